package sqlstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// sqliteConn is a SQLite connection with its prepared statements. One goroutine uses it at a time. Its first
// statement opens it, and so does the first statement after close.
type sqliteConn struct {
	uri        string
	pragmas    []pragma
	open       *sqlite.Conn
	statements map[string]*statement
	interrupt  context.CancelFunc // makes the running statement fail
}

// pragma is a setting of a connection, with its value as SQLite reports it.
type pragma struct{ name, value string }

// newSQLiteConn returns a connection that waits for locks of other connections for at most wait. Without that, the
// library would wait for ever.
func newSQLiteConn(uri string, wait time.Duration, pragmas ...pragma) *sqliteConn {
	timeout := pragma{"busy_timeout", strconv.FormatInt(wait.Milliseconds(), 10)} // first: the others may have to wait
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

// set applies a pragma and reads it back: SQLite ignores what it does not know or cannot do.
func (c *sqliteConn) set(p pragma) error {
	got := ""
	keep := &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error { got = s.ColumnText(0); return nil }}
	for _, statement := range []string{"PRAGMA " + p.name + " = " + p.value, "PRAGMA " + p.name} {
		if err := sqlitex.ExecuteTransient(c.open, statement, keep); err != nil {
			return err
		}
	}
	if got != p.value {
		return fmt.Errorf("its %s is %q and cannot be changed to %q", strings.ReplaceAll(p.name, "_", " "), got, p.value)
	}
	return nil
}

// exec executes one statement. It is interrupted when the context ends.
func (c *sqliteConn) exec(ctx context.Context, query string, args []any) error {
	prepared, err := c.bound(ctx, query, args)
	if err != nil {
		return err
	}
	defer c.interruptOn(ctx)()
	return interrupted(ctx, prepared.run())
}

// script executes the statements of a text.
func (c *sqliteConn) script(ctx context.Context, text string) error {
	if err := c.connect(); err != nil {
		return err
	}
	defer c.interruptOn(ctx)()
	return interrupted(ctx, sqlitex.ExecuteScript(c.open, text, nil))
}

// query starts a query. It is interrupted when the context ends before its rows are closed.
func (c *sqliteConn) query(ctx context.Context, query string, args []any) (Rows, error) {
	prepared, err := c.bound(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return &sqliteRows{ctx: ctx, stmt: prepared, stop: c.interruptOn(ctx)}, nil
}

// armInterrupt gives the connection a fresh channel to be interrupted by. After the old one was closed, every
// statement fails until then, also ROLLBACK.
func (c *sqliteConn) armInterrupt() {
	ctx, cancel := context.WithCancel(context.Background())
	c.open.SetInterrupt(ctx.Done())
	c.interrupt = cancel
}

// interruptOn makes the running statement fail when the context ends, until stop is called. After that, a
// late interrupt of this context finds a channel that the connection no longer uses.
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

// interrupted returns the context's error in place of SQLITE_INTERRUPT.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && primaryCode(err) == sqlite.ResultInterrupt {
		return ctx.Err()
	}
	return err
}

// inTransaction reports whether a transaction is open: some errors end it.
func (c *sqliteConn) inTransaction() bool { return !c.open.AutocommitEnabled() }

// rollback ends the transaction. It closes a connection that cannot even do that.
func (c *sqliteConn) rollback() {
	if err := c.exec(context.Background(), "ROLLBACK", nil); err != nil {
		c.close()
	}
}

// close closes the connection, which rolls back an open transaction.
func (c *sqliteConn) close() {
	if c.open == nil {
		return
	}
	c.finalize()
	c.open.Close()
	c.interrupt()
	c.open = nil
}
