package sqlstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// pgxRunner is the runner of one pgx connection. Its statements belong to the transaction that is open on
// the connection, if any. pgx prepares and caches them.
type pgxRunner struct{ conn *pgx.Conn }

func (r pgxRunner) exec(ctx context.Context, query string, args []any) error {
	_, err := r.conn.Exec(ctx, query, args...)
	return err
}

func (r pgxRunner) query(ctx context.Context, query string, args []any) (Rows, error) {
	rows, err := r.conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgxRows{rows}, nil
}

// pgxRows adapts pgx.Rows to rows.
type pgxRows struct{ pgx.Rows }

func (r pgxRows) Close() error {
	r.Rows.Close()
	return r.Rows.Err()
}
