package sqlstore

import (
	"cmp"
	"context"
)

// runner executes statements on one connection, in the transaction that is open there.
type runner interface {
	exec(ctx context.Context, query string, args []any) error
	query(ctx context.Context, query string, args []any) (Rows, error)
}

// Rows are the rows of a query, one after the other. The statement ends with Close.
type Rows interface {
	Next() bool
	Scan(columns ...any) error
	Err() error
	Close() error
}

// Scanner reads the columns of the current row.
type Scanner func(columns ...any) error

// eachRow calls fn for every row of a query.
func eachRow(ctx context.Context, r runner, query string, fn func(Scanner) error) error {
	rows, err := r.query(ctx, query, nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// firstRow scans the first row of a query into columns, and reports whether there is one.
func firstRow(ctx context.Context, r runner, query string, columns ...any) (found bool, err error) {
	rows, err := r.query(ctx, query, nil)
	if err != nil {
		return false, err
	}
	if found = rows.Next(); found {
		err = rows.Scan(columns...)
	}
	return found, cmp.Or(err, rows.Close(), rows.Err())
}

// execAll executes statements until one fails.
func execAll(ctx context.Context, r runner, statements ...string) error {
	for _, statement := range statements {
		if err := r.exec(ctx, statement, nil); err != nil {
			return err
		}
	}
	return nil
}
