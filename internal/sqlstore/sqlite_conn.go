package sqlstore

import (
	"context"
	"strconv"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// sqliteConn is a SQLite connection with its prepared statements. Only one goroutine may use it at a time.
// The first statement opens the connection. After close, the next statement opens it again.
type sqliteConn struct {
	uri        string
	pragmas    []pragma
	open       *sqlite.Conn
	statements map[string]*statement
	interrupt  context.CancelFunc // makes the running statement fail by closing the interrupt channel
}

// newSQLiteConn returns a connection. If another connection holds a lock, the new connection waits for at
// most the given time. Without this limit, the library would wait forever.
func newSQLiteConn(uri string, wait time.Duration, pragmas ...pragma) *sqliteConn {
	// The busy timeout must be the first pragma, because setting another pragma may have to wait for a lock.
	timeout := pragma{"busy_timeout", strconv.FormatInt(wait.Milliseconds(), 10)}
	return &sqliteConn{uri: uri, pragmas: append([]pragma{timeout}, pragmas...), statements: map[string]*statement{}}
}

func (c *sqliteConn) connect() (err error) {
	if c.open != nil {
		return nil
	}
	if c.open, err = sqlite.OpenConn(c.uri, sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenURI); err != nil {
		c.open = nil
		return err
	}
	c.armInterrupt()
	for _, p := range c.pragmas {
		if err := c.set(p); err != nil {
			c.close()
			return err
		}
	}
	return nil
}

// exec executes one statement. The statement is interrupted if the context ends.
func (c *sqliteConn) exec(ctx context.Context, query string, args []any) error {
	prepared, err := c.bound(ctx, query, args)
	if err != nil {
		return err
	}
	defer c.interruptOn(ctx)()
	return interrupted(ctx, prepared.run())
}

// script executes all statements in a text.
func (c *sqliteConn) script(ctx context.Context, text string) error {
	if err := c.connect(); err != nil {
		return err
	}
	defer c.interruptOn(ctx)()
	return interrupted(ctx, sqlitex.ExecuteScript(c.open, text, nil))
}

// query starts a query. The query is interrupted if the context ends before its rows are closed.
func (c *sqliteConn) query(ctx context.Context, query string, args []any) (Rows, error) {
	prepared, err := c.bound(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return &sqliteRows{ctx: ctx, stmt: prepared, stop: c.interruptOn(ctx)}, nil
}

// armInterrupt gives the connection a new interrupt channel. Once the old channel has been closed, every
// statement, including ROLLBACK, fails until the channel is replaced.
func (c *sqliteConn) armInterrupt() {
	ctx, cancel := context.WithCancel(context.Background())
	c.open.SetInterrupt(ctx.Done())
	c.interrupt = cancel
}

// interruptOn makes the running statement fail if the context ends before stop is called. After stop, a
// delayed interrupt from this context only closes a channel that the connection no longer uses.
func (c *sqliteConn) interruptOn(ctx context.Context) (stop func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	cancel := context.AfterFunc(ctx, c.interrupt)
	return func() {
		if !cancel() && c.open != nil {
			c.armInterrupt()
		}
	}
}

// interrupted returns the context's error if the context has ended and err is SQLITE_INTERRUPT. Otherwise it returns
// err.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && primaryCode(err) == sqlite.ResultInterrupt {
		return ctx.Err()
	}
	return err
}

// inTransaction reports whether a transaction is still open. Some errors make SQLite end the transaction.
func (c *sqliteConn) inTransaction() bool { return !c.open.AutocommitEnabled() }

// rollback rolls back the transaction, unless SQLite has already ended it. If that fails, it closes the
// connection.
func (c *sqliteConn) rollback() {
	if c.open == nil || !c.inTransaction() {
		return
	}
	if err := c.exec(context.Background(), "ROLLBACK", nil); err != nil {
		c.close()
	}
}

// close closes the connection. An open transaction is rolled back.
func (c *sqliteConn) close() {
	if c.open == nil {
		return
	}
	c.finalize()
	c.open.Close()
	c.interrupt()
	c.open = nil
}
