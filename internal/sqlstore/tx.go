package sqlstore

import "context"

// tx is either a whole transaction or one member's part of a write group. It implements shop.ReadTx and
// shop.WriteTx. The methods for each resource are in the file that is named after the resource.
type tx struct {
	ctx     context.Context
	runner  runner
	dialect *dialect
	effects
	failed error
	writer rowWriter // nil means that a directWriter is used
}

// effects records which cached data is invalidated by a write.
type effects struct {
	catalog bool // whether the catalogue has changed
	orders  bool // whether an order has changed
}

func (e *effects) add(more effects) {
	e.catalog, e.orders = e.catalog || more.catalog, e.orders || more.orders
}

// run calls fn. If a statement in fn has failed, run returns the error from that statement even if fn ignored
// it. After such an error, PostgreSQL has aborted the transaction, and SQLite may have ended it.
func (t *tx) run(fn func() error) error {
	err := fn()
	if t.failed != nil {
		return t.failed
	}
	return err
}

// fail records err if it is the first error in the transaction. It returns the first error, converted to a
// shop error.
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

// all returns every row in the result of a query, converted by scan.
func all[T any](t *tx, scan func(Scanner) (T, error), query string, args ...any) ([]T, error) {
	return allUpTo(t, 0, scan, query, args...)
}

// allUpTo is like all, but allocates space for the given maximum number of rows. A capacity of 0 means that the maximum
// is not known.
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

// one returns the first row in the result of a query, converted by scan, and whether there is such a row.
func one[T any](t *tx, scan func(Scanner) (T, error), query string, args ...any) (T, bool, error) {
	values, err := all(t, scan, query, args...)
	if err != nil || len(values) == 0 {
		return *new(T), false, err
	}
	return values[0], true, nil
}

// scanValue scans a row that has a single column.
func scanValue[T any](scan Scanner) (value T, err error) {
	err = scan(&value)
	return value, err
}

// nullable returns nil, which is stored as NULL, if value is the zero value. Otherwise it returns value.
func nullable[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}
