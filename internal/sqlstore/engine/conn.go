package engine

import (
	"cmp"
	"context"
)

// Conn executes statements on one connection. If a transaction is open on the connection, the statements run in that
// transaction.
type Conn interface {
	Exec(ctx context.Context, query string, args []any) error
	Query(ctx context.Context, query string, args []any) (Rows, error)
	// Insert inserts n rows. appendRow appends the values of one row to args.
	Insert(ctx context.Context, into *Insertion, n int, appendRow func(args []any, row int) []any) error
}

// Insertion describes an INSERT of any number of rows into one table. SQLite inserts 64 rows with one statement.
// PostgreSQL gets one array for each column.
type Insertion struct {
	Table   string
	Columns string   // separated by commas
	Types   []string // the SQL types of the values of a row: BIGINT, TEXT or BYTEA
	First   string   // an SQL expression for the first column, or "" if every row has a value for it
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

// EachRow calls fn for every row that the query returns. It stops at the first error returned by fn.
func EachRow(ctx context.Context, c Conn, query string, args []any, fn func(Scanner) error) error {
	rows, err := c.Query(ctx, query, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	scan := rows.Scan
	for rows.Next() {
		if err := fn(scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// FirstRow reads the first row in the result of a query into columns. found is false if there is no row.
func FirstRow(ctx context.Context, c Conn, query string, columns ...any) (found bool, err error) {
	rows, err := c.Query(ctx, query, nil)
	if err != nil {
		return false, err
	}
	if found = rows.Next(); found {
		err = rows.Scan(columns...)
	}
	return found, cmp.Or(err, rows.Close(), rows.Err())
}

// ExecAll executes the statements in order and stops at the first error.
func ExecAll(ctx context.Context, c Conn, statements ...string) error {
	for _, statement := range statements {
		if err := c.Exec(ctx, statement, nil); err != nil {
			return err
		}
	}
	return nil
}
