package sqlstore

import (
	"context"
	"time"
)

// tx is one transaction, or one member's part of a write group. It implements shop.ReadTx and shop.WriteTx;
// the methods are in the files of their resources.
type tx struct {
	ctx     context.Context
	runner  runner
	dialect *dialect
	effects
	failed error
	writer rowWriter // nil: directWriter
}

// effects are the changes of a write that invalidate cached data.
type effects struct {
	catalog bool // the catalogue
	orders  bool // an order has changed
}

func (e *effects) add(more effects) {
	e.catalog, e.orders = e.catalog || more.catalog, e.orders || more.orders
}

// run runs a closure over the transaction. It returns the error of a failed statement even if the closure
// ignored it: PostgreSQL has aborted the transaction then, and SQLite may have ended it.
func (t *tx) run(fn func() error) error {
	err := fn()
	if t.failed != nil {
		return t.failed
	}
	return err
}

// fail records the first error of the transaction, and returns it.
func (t *tx) fail(err error) error {
	if t.failed == nil {
		t.failed = t.dialect.convertError(err)
	}
	return t.failed
}

func (t *tx) exec(query string, args ...any) error {
	if t.failed != nil {
		return t.failed
	}
	if err := t.rowWriter().flush(); err != nil {
		return t.fail(err)
	}
	if err := t.runner.exec(t.ctx, query, args); err != nil {
		return t.fail(err)
	}
	return nil
}

// all returns the rows of a query, each converted by scan.
func all[T any](t *tx, scan func(Scanner) (T, error), query string, args ...any) ([]T, error) {
	return allUpTo(t, 0, scan, query, args...)
}

// allUpTo is all where it is known how many there are at most; 0: it is not.
func allUpTo[T any](t *tx, capacity int, scan func(Scanner) (T, error), query string, args ...any) ([]T, error) {
	if t.failed != nil {
		return nil, t.failed
	}
	if err := t.rowWriter().flush(); err != nil {
		return nil, t.fail(err)
	}
	rows, err := t.runner.query(t.ctx, query, args)
	if err != nil {
		return nil, t.fail(err)
	}
	defer rows.Close()
	values, columns := make([]T, 0, capacity), rows.Scan
	for rows.Next() {
		value, err := scan(columns)
		if err != nil {
			return nil, t.fail(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		return nil, t.fail(err)
	}
	return values, nil
}

// one returns the first row of a query, and whether there is one.
func one[T any](t *tx, scan func(Scanner) (T, error), query string, args ...any) (T, bool, error) {
	values, err := all(t, scan, query, args...)
	if err != nil || len(values) == 0 {
		return *new(T), false, err
	}
	return values[0], true, nil
}

// scanValue scans a row of one column.
func scanValue[T any](scan Scanner) (value T, err error) {
	err = scan(&value)
	return value, err
}

// nullable stores the zero value as NULL.
func nullable[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

// micros converts a time to its column: microseconds since 1970, and 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(m int64) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(m).UTC()
}
