package sqlstore

import (
	"cmp"
	"context"
)

// runner executes statements on one connection. If a transaction is open on the connection, the statements
// run in that transaction.
type runner interface {
	exec(ctx context.Context, query string, args []any) error
	query(ctx context.Context, query string, args []any) (Rows, error)
}

// Rows iterates over the rows that a query returns. Close ends the query.
type Rows interface {
	Next() bool
	Scan(columns ...any) error
	Err() error
	Close() error
}

// Scanner reads the columns of the current row into variables. Its arguments are pointers to these variables.
type Scanner func(columns ...any) error

// eachRow calls fn for every row that the query returns. It stops at the first error returned by fn.
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

// firstRow reads the first row in the result of a query into columns. found is false if there is no row.
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

// execAll executes the statements in order and stops at the first error.
func execAll(ctx context.Context, r runner, statements ...string) error {
	for _, statement := range statements {
		if err := r.exec(ctx, statement, nil); err != nil {
			return err
		}
	}
	return nil
}
