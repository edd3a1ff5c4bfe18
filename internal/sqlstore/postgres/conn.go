package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"animalstore/internal/sqlstore/engine"
)

// connection is a pgx connection as an engine.Conn. If a transaction is open on the connection, the statements run in
// that transaction. pgx prepares and caches the statements.
type connection struct{ *pgx.Conn }

func (c connection) Exec(ctx context.Context, query string, args []any) error {
	_, err := c.Conn.Exec(ctx, query, args...)
	return err
}

func (c connection) Query(ctx context.Context, query string, args []any) (engine.Rows, error) {
	found, err := c.Conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return rows{found}, nil
}

func (c connection) Insert(ctx context.Context, into *engine.Insertion, n int, appendRow func(args []any, row int) []any) error {
	return c.Exec(ctx, insertSQL(into), Arrays(into.Types, n, appendRow))
}

// rows adapts pgx.Rows to engine.Rows.
type rows struct{ pgx.Rows }

func (r rows) Close() error {
	r.Rows.Close()
	return r.Rows.Err()
}

// queueBatch adds the statements of a batch to a batch of pgx.
func queueBatch(to *pgx.Batch, b *engine.Batch) {
	for _, s := range b.Statements {
		switch {
		case s.Into != nil:
			to.Queue(insertSQL(s.Into), Arrays(s.Into.Types, s.N, s.AppendRow)...)
		case s.Each != nil:
			to.Queue(s.Query, s.Args...).Query(func(rows pgx.Rows) error {
				for rows.Next() {
					if err := s.Each(rows.Scan); err != nil {
						return err
					}
				}
				return rows.Err()
			})
		default:
			to.Queue(s.Query, s.Args...)
		}
	}
}

// Conn is a connection of its own, for tools that work on a whole database.
type Conn struct{ connection }

// Connect opens a connection that does not belong to the pool. The caller must close it.
func (p *Engine) Connect(ctx context.Context) (*Conn, error) { return connect(ctx, p.config) }

// OpenReadOnly opens a connection to a server that may also be a standby. Nothing is created, migrated or written. It
// also returns the version of the schema, which is 0 if there is none.
func OpenReadOnly(ctx context.Context, url string) (*Conn, int, error) {
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
