package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"

	"zombiezen.com/go/sqlite"
)

// rows implements engine.Rows for a SQLite query.
type rows struct {
	ctx  context.Context
	stmt *statement
	stop func() // detaches the query from ctx, so that ctx can no longer interrupt it
	err  error
}

func (r *rows) Next() (row bool) {
	if r.err = r.ctx.Err(); r.err != nil {
		return false
	}
	row, err := r.stmt.Step()
	r.err = interrupted(r.ctx, err)
	return row
}

func (r *rows) Err() error { return r.err }

func (r *rows) Close() error {
	r.stmt.Reset() // any error was already returned by Step
	r.stop()
	return nil
}

// Scan reads the columns of the current row. It supports only the Go types that the store uses for its
// columns.
func (r *rows) Scan(columns ...any) error {
	if n := r.stmt.ColumnCount(); len(columns) != n {
		return fmt.Errorf("%d of %d columns are read", len(columns), n)
	}
	for i, column := range columns {
		if err := r.assign(column, i); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

func (r *rows) assign(to any, column int) error {
	switch to := to.(type) {
	case *any:
		*to = r.value(column)
		return nil
	case sql.Scanner: // used for nullable columns
		return to.Scan(r.value(column))
	}
	into := reflect.ValueOf(to).Elem()
	switch kind := r.stmt.ColumnType(column); {
	case kind == sqlite.TypeInteger && into.CanInt() && !into.OverflowInt(r.stmt.ColumnInt64(column)):
		into.SetInt(r.stmt.ColumnInt64(column))
	case kind == sqlite.TypeText && into.Kind() == reflect.String:
		into.SetString(r.stmt.ColumnText(column))
	case kind == sqlite.TypeBlob && into.Type() == reflect.TypeFor[[]byte]():
		into.SetBytes(r.bytes(column))
	default:
		return fmt.Errorf("a %T cannot be read into a %T", r.value(column), to)
	}
	return nil
}

// value returns the value in a column as an int64, float64, string or []byte, or nil for NULL.
func (r *rows) value(column int) any {
	switch r.stmt.ColumnType(column) {
	case sqlite.TypeInteger:
		return r.stmt.ColumnInt64(column)
	case sqlite.TypeFloat:
		return r.stmt.ColumnFloat(column)
	case sqlite.TypeText:
		return r.stmt.ColumnText(column)
	case sqlite.TypeBlob:
		return r.bytes(column)
	default:
		return nil
	}
}

func (r *rows) bytes(column int) []byte {
	content := make([]byte, r.stmt.ColumnLen(column))
	r.stmt.ColumnBytes(column, content)
	return content
}
