package sqlstore

import (
	"context"
	"database/sql"
)

// maxStatements bounds the prepared statements of a connection; the texts of lists vary with their filters.
const maxStatements = 100

// conn is one connection of SQLite with its prepared statements. It opens when it is first used, and again after it was given up.
type conn struct {
	db         *sql.DB
	open       *sql.Conn
	statements map[string]*sql.Stmt
}

func newConn(db *sql.DB) *conn { return &conn{db: db, statements: map[string]*sql.Stmt{}} }

func (c *conn) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if statement, ok := c.statements[query]; ok {
		return statement, nil
	}
	if c.open == nil {
		open, err := c.db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		c.open = open
	}
	if len(c.statements) >= maxStatements {
		c.forget()
	}
	statement, err := c.open.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.statements[query] = statement
	return statement, nil
}

func (c *conn) exec(ctx context.Context, query string, args []any) error {
	statement, err := c.prepare(ctx, query)
	if err == nil {
		_, err = statement.ExecContext(ctx, args...)
	}
	return err
}

func (c *conn) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	statement, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(ctx, args...)
}

func (c *conn) forget() {
	for _, statement := range c.statements {
		statement.Close()
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
