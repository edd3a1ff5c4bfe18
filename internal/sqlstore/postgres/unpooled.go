package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Conn is a connection that does not belong to the pool, for tools that work on a whole database.
type Conn struct{ connection }

// Connect opens a connection to the engine's server. The caller must close it.
func (e *Engine) Connect(ctx context.Context) (*Conn, error) { return connect(ctx, e.config) }

// ConnectURL opens a connection to the server at url, which may also be a standby. It creates, migrates and writes
// nothing. It also returns the version of the schema, which is 0 if there is none. The caller must close the connection
// and should only read, because the server need not be the primary.
func ConnectURL(ctx context.Context, url string) (*Conn, int, error) {
	config, _, err := parseURL(url)
	if err != nil {
		return nil, 0, err
	}
	config.ValidateConnect = func(_ context.Context, conn *pgconn.PgConn) error { return checkServer(conn) }
	c, err := connect(ctx, config)
	if err != nil {
		return nil, 0, err
	}
	version, err := schemaVersion(ctx, c)
	if err != nil {
		c.Close()
		return nil, 0, err
	}
	return c, version, nil
}

func connect(ctx context.Context, config *pgx.ConnConfig) (*Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, openError(err)
	}
	return &Conn{connection{conn}}, nil
}

// Close closes the connection. An open transaction is rolled back.
func (c *Conn) Close() { c.Conn.Close(context.Background()) }

// Copy inserts rows into a table. It calls next for each row until next returns nil or an error.
func (c *Conn) Copy(ctx context.Context, table string, columns []string, next func() ([]any, error)) error {
	_, err := c.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(next))
	return err
}
