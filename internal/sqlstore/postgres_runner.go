package sqlstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// pgxRunner is the runner for one pgx connection. If a transaction is open on the connection, the statements
// run in that transaction. pgx prepares and caches the statements.
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

// pgxRows adapts pgx.Rows to the Rows interface.
type pgxRows struct{ pgx.Rows }

func (r pgxRows) Close() error {
	r.Rows.Close()
	return r.Rows.Err()
}
