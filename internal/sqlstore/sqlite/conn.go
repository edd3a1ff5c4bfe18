package sqlite

import (
	"context"
	"strconv"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"animalstore/internal/sqlstore/engine"
)

// Conn is a connection to a file with its prepared statements. Only one goroutine may use it at a time.
// The first statement opens the connection. After close, the next statement opens it again.
type Conn struct {
	uri        string
	pragmas    []pragma
	open       *sqlite.Conn
	statements map[string]*statement
	inserters  map[*engine.Insertion]*inserter
	interrupt  context.CancelFunc // makes the running statement fail by closing the interrupt channel
}

// newConn returns a connection. If another connection holds a lock, the new connection waits for at
// most the given time. Without this limit, the library would wait forever.
func newConn(uri string, wait time.Duration, pragmas ...pragma) *Conn {
	// The busy timeout must be the first pragma, because setting another pragma may have to wait for a lock.
	timeout := pragma{"busy_timeout", strconv.FormatInt(wait.Milliseconds(), 10)}
	return &Conn{
		uri: uri, pragmas: append([]pragma{timeout}, pragmas...),
		statements: map[string]*statement{}, inserters: map[*engine.Insertion]*inserter{},
	}
}

func (c *Conn) connect() (err error) {
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
			c.Close()
			return err
		}
	}
	return nil
}

// Exec executes one statement. The statement is interrupted if the context ends.
func (c *Conn) Exec(ctx context.Context, query string, args []any) error {
	prepared, err := c.bound(ctx, query, args)
	if err != nil {
		return err
	}
	defer c.interruptOn(ctx)()
	return interrupted(ctx, prepared.run())
}

// Script executes all statements in a text.
func (c *Conn) Script(ctx context.Context, text string) error {
	if err := c.connect(); err != nil {
		return err
	}
	defer c.interruptOn(ctx)()
	return interrupted(ctx, sqlitex.ExecuteScript(c.open, text, nil))
}

// Query starts a query. The query is interrupted if the context ends before its rows are closed.
func (c *Conn) Query(ctx context.Context, query string, args []any) (engine.Rows, error) {
	prepared, err := c.bound(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return &rows{ctx: ctx, stmt: prepared, stop: c.interruptOn(ctx)}, nil
}

// armInterrupt gives the connection a new interrupt channel. Once the old channel has been closed, every
// statement, including ROLLBACK, fails until the channel is replaced.
func (c *Conn) armInterrupt() {
	ctx, cancel := context.WithCancel(context.Background())
	c.open.SetInterrupt(ctx.Done())
	c.interrupt = cancel
}

// interruptOn makes the running statement fail if the context ends before stop is called. After stop, a
// delayed interrupt from this context only closes a channel that the connection no longer uses.
func (c *Conn) interruptOn(ctx context.Context) (stop func()) {
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
func (c *Conn) inTransaction() bool { return !c.open.AutocommitEnabled() }

// rollback rolls back the transaction, unless SQLite has already ended it. If that fails, it closes the
// connection.
func (c *Conn) rollback() {
	if c.open == nil || !c.inTransaction() {
		return
	}
	if err := c.Exec(context.Background(), "ROLLBACK", nil); err != nil {
		c.Close()
	}
}

// Close closes the connection. An open transaction is rolled back.
func (c *Conn) Close() {
	if c.open == nil {
		return
	}
	c.finalize()
	c.open.Close()
	c.interrupt()
	c.open = nil
}
