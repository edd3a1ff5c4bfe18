package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

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
