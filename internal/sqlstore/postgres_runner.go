package sqlstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// pgxRunner runs statements on one connection, in whatever transaction is open there; the driver prepares them.
type pgxRunner struct{ conn *pgx.Conn }

func (r pgxRunner) exec(ctx context.Context, query string, args []any) error {
	_, err := r.conn.Exec(ctx, query, args...)
	return err
}

func (r pgxRunner) query(ctx context.Context, query string, args []any) (rows, error) {
	rows, err := r.conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgxRows{rows}, nil
}

// pgxRows adds to pgx's rows that Close says what went wrong.
type pgxRows struct{ pgx.Rows }

func (r pgxRows) Close() error {
	r.Rows.Close()
	return r.Rows.Err()
}

// firstRow reads the first row of a query into columns, and tells whether there is one.
func firstRow(ctx context.Context, r runner, query string, columns ...any) (found bool, err error) {
	rows, err := r.query(ctx, query, nil)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if rows.Next() {
		return true, rows.Scan(columns...)
	}
	return false, rows.Err()
}
