package sqlstore

import (
	"context"
	"database/sql/driver"
)

// maxStatements bounds the prepared statements of a connection; the texts of lists vary with their filters.
const maxStatements = 200

// conn is one connection of SQLite with its prepared statements. It opens when it is first used, and again after it was
// given up. It speaks to the driver itself: going through database/sql, a page took half as long again.
type conn struct {
	connect    func() (driver.Conn, error)
	open       driver.Conn
	statements map[string]statement
	values     []driver.NamedValue // of the statement at hand
}

// statement is what the driver of SQLite prepares.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func newConn(connect func() (driver.Conn, error)) *conn {
	return &conn{connect: connect, statements: map[string]statement{}}
}

func (c *conn) prepare(ctx context.Context, query string) (statement, error) {
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
	made, err := c.open.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	prepared := made.(statement)
	c.statements[query] = prepared
	return prepared, nil
}

func (c *conn) exec(ctx context.Context, query string, args []any) error {
	prepared, err := c.prepare(ctx, query)
	if err != nil {
		return err
	}
	values, err := c.bind(args)
	if err == nil {
		_, err = prepared.ExecContext(ctx, values)
	}
	return err
}

func (c *conn) query(ctx context.Context, query string, args []any) (rows, error) {
	prepared, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	values, err := c.bind(args)
	if err != nil {
		return nil, err
	}
	found, err := prepared.QueryContext(ctx, values)
	if err != nil {
		return nil, err
	}
	return &sqliteRows{ctx: ctx, rows: found, row: make([]driver.Value, len(found.Columns()))}, nil
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

// bind makes arguments fit for the driver, which does not keep them.
func (c *conn) bind(args []any) ([]driver.NamedValue, error) {
	clear(c.values)
	c.values = c.values[:0]
	for i, arg := range args {
		value, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return nil, err
		}
		c.values = append(c.values, driver.NamedValue{Ordinal: i + 1, Value: value})
	}
	return c.values, nil
}
