package engine

import "context"

// Tx is a transaction. It remembers the first statement that failed, because PostgreSQL then has aborted the
// transaction, and SQLite may have ended it. All later statements fail with the same error.
type Tx struct {
	Ctx     context.Context
	Conn    Conn
	Convert func(error) error // converts an error of the driver to an *Error; nil means that errors stay as they are
	failed  error
}

// Outcome returns the error of a function that has used the transaction: that of the first statement that failed, even if
// the function ignored it, and otherwise err, which the function has returned.
func (t *Tx) Outcome(err error) error {
	if t.failed != nil {
		return t.failed
	}
	return err
}

// Failed returns the error of the first statement that failed, or nil.
func (t *Tx) Failed() error { return t.failed }

// Fail makes the transaction fail with err, unless it already has failed. It returns the first error.
func (t *Tx) Fail(err error) error {
	if t.failed == nil {
		if t.Convert != nil {
			err = t.Convert(err)
		}
		t.failed = err
	}
	return t.failed
}

// Exec executes one statement. The args are the values for its placeholders $1, $2 and so on.
func (t *Tx) Exec(query string, args ...any) error {
	if t.failed != nil {
		return t.failed
	}
	if err := t.Conn.Exec(t.Ctx, query, args); err != nil {
		return t.Fail(err)
	}
	return nil
}

// Insert inserts n rows. appendRow appends the values of one row to args.
func (t *Tx) Insert(into *Insertion, n int, appendRow func(args []any, row int) []any) error {
	if t.failed != nil || n == 0 {
		return t.failed
	}
	if err := t.Conn.Insert(t.Ctx, into, n, appendRow); err != nil {
		return t.Fail(err)
	}
	return nil
}

// All returns every row in the result of a query, converted by scan.
func All[T any](t *Tx, scan func(Scanner) (T, error), query string, args ...any) ([]T, error) {
	return AllUpTo(t, 0, scan, query, args...)
}

// AllUpTo is like All, but allocates space for the given maximum number of rows. A capacity of 0 means that the maximum
// is not known.
func AllUpTo[T any](t *Tx, capacity int, scan func(Scanner) (T, error), query string, args ...any) ([]T, error) {
	if t.failed != nil {
		return nil, t.failed
	}
	rows, err := t.Conn.Query(t.Ctx, query, args)
	if err != nil {
		return nil, t.Fail(err)
	}
	defer rows.Close()
	values, columns := make([]T, 0, capacity), rows.Scan
	for rows.Next() {
		value, err := scan(columns)
		if err != nil {
			return nil, t.Fail(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		return nil, t.Fail(err)
	}
	return values, nil
}

// One returns the first row in the result of a query, converted by scan, and whether there is such a row.
func One[T any](t *Tx, scan func(Scanner) (T, error), query string, args ...any) (T, bool, error) {
	values, err := All(t, scan, query, args...)
	if err != nil || len(values) == 0 {
		return *new(T), false, err
	}
	return values[0], true, nil
}

// ScanValue scans a row that has a single column.
func ScanValue[T any](scan Scanner) (value T, err error) {
	err = scan(&value)
	return value, err
}
