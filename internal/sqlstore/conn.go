package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"animalstore/internal/sqlite"
)

// maxStatements bounds the prepared statements of a connection; the texts of lists vary with their filters.
const maxStatements = 200

// conn is one connection of SQLite with its prepared statements. It opens when it is first used, and again after it was
// given up.
type conn struct {
	connect    func() (*sqlite.Conn, error)
	open       *sqlite.Conn
	statements map[string]*sqlite.Stmt
}

func newConn(connect func() (*sqlite.Conn, error)) *conn {
	return &conn{connect: connect, statements: map[string]*sqlite.Stmt{}}
}

func (c *conn) prepare(query string) (*sqlite.Stmt, error) {
	if prepared, ok := c.statements[query]; ok {
		return prepared, nil
	}
	if c.open == nil {
		open, err := c.connect()
		if err != nil {
			return nil, err
		}
		c.open = open
	}
	if len(c.statements) >= maxStatements {
		c.forget()
	}
	prepared, err := c.open.Prepare(query)
	if err != nil {
		return nil, err
	}
	c.statements[query] = prepared
	return prepared, nil
}

// bound prepares a statement with its values.
func (c *conn) bound(ctx context.Context, query string, args []any) (*sqlite.Stmt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	prepared, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	if n := prepared.Parameters(); n != len(args) {
		return nil, fmt.Errorf("%d values are given for %d", len(args), n)
	}
	for i, arg := range args {
		if err := bind(prepared, i+1, arg); err != nil {
			return nil, err
		}
	}
	return prepared, nil
}

func bind(to *sqlite.Stmt, parameter int, value any) error {
	switch value := value.(type) {
	case int64:
		return to.BindInt64(parameter, value)
	case string:
		return to.BindText(parameter, value)
	case []byte:
		return to.BindBlob(parameter, value)
	case nil:
		return to.BindNull(parameter)
	case bool, float64, time.Time: // which the converter makes of others, or leaves as it is
		return fmt.Errorf("a %T is no value of a column", value)
	}
	plain, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil {
		return err
	}
	return bind(to, parameter, plain)
}

func (c *conn) exec(ctx context.Context, query string, args []any) error {
	prepared, err := c.bound(ctx, query, args)
	if err == nil {
		err = prepared.Run()
	}
	return interrupted(ctx, err)
}

func (c *conn) query(ctx context.Context, query string, args []any) (rows, error) {
	prepared, err := c.bound(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return &sqliteRows{ctx: ctx, stmt: prepared, texts: make([]string, prepared.Columns())}, nil
}

// heed makes the statement that is running fail when the context ends. The connection is not given back before stop returns:
// whoever has it next must not be made to fail.
func (c *conn) heed(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		defer close(done)
		c.open.Interrupt()
	})
	return func() {
		if !forget() {
			<-done
		}
	}
}

// interrupted says why a statement failed that was made to.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && primaryCode(err) == sqliteInterrupt {
		return ctx.Err()
	}
	return err
}

// inTransaction tells whether there is a transaction still: some failures end it.
func (c *conn) inTransaction() bool { return c.open.InTransaction() }

// checkpointFrames is the length of the WAL, in frames, at which it is moved to the database: SQLite's own default.
const checkpointFrames = 1000

// checkpoint moves the frames of a long WAL to the database. Where readers still need older pages it moves what it can, and the
// next checkpoint the rest. An error is ignored: the commits are durable in the WAL.
func (c *conn) checkpoint() {
	if frames, err := c.walFrames(); err == nil && frames >= checkpointFrames {
		c.exec(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)", nil)
	}
}

// walFrames returns the number of frames in the WAL.
func (c *conn) walFrames() (frames int64, err error) {
	rows, err := c.query(context.Background(), "PRAGMA wal_checkpoint(NOOP)", nil)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var busy, checkpointed int64
	if rows.Next() {
		err = rows.Scan(&busy, &frames, &checkpointed)
	}
	return frames, errors.Join(err, rows.Err())
}

func (c *conn) forget() {
	for _, prepared := range c.statements {
		prepared.Close()
	}
	clear(c.statements)
}

// rollback ends the transaction. A connection that cannot do even that is given up.
func (c *conn) rollback() {
	if err := c.exec(context.Background(), "ROLLBACK", nil); err != nil {
		c.close()
	}
}

func (c *conn) close() {
	c.forget()
	if c.open != nil {
		c.open.Close()
		c.open = nil
	}
}
