package sqlstore

import (
	"context"
	"fmt"
	"reflect"

	"animalstore/internal/sqlite"
)

// sqliteRows are the rows that a query finds.
type sqliteRows struct {
	ctx   context.Context
	stmt  *sqlite.Stmt
	texts []string // of the row before: many columns have the same in all rows
	err   error
}

func (r *sqliteRows) Next() (row bool) {
	if r.err = r.ctx.Err(); r.err != nil { // whoever has gone away does not need the rest
		return false
	}
	row, err := r.stmt.Step()
	r.err = interrupted(r.ctx, err)
	return row
}

func (r *sqliteRows) Err() error { return r.err }

func (r *sqliteRows) Close() error {
	r.stmt.Reset()
	return nil
}

// Scan reads the columns of the row. It takes what the store's columns are read into, and nothing else.
func (r *sqliteRows) Scan(columns ...any) error {
	if len(columns) != len(r.texts) {
		return fmt.Errorf("%d columns are read of %d", len(columns), len(r.texts))
	}
	for i, column := range columns {
		if err := r.assign(column, i); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

func (r *sqliteRows) assign(to any, column int) error {
	kind := r.stmt.Kind(column)
	switch to := to.(type) {
	case *int64:
		if kind == sqlite.Integer {
			*to = r.stmt.Int64(column)
			return nil
		}
	case *string:
		if kind == sqlite.Text {
			*to = r.text(column)
			return nil
		}
	case interface{ Scan(any) error }: // what may be NULL
		return to.Scan(r.value(column))
	case *[]byte:
		if kind == sqlite.Blob {
			*to = append([]byte(nil), r.stmt.Bytes(column)...)
			return nil
		}
	default: // the shop's own kinds of numbers and texts
		into := reflect.ValueOf(to).Elem()
		switch {
		case kind == sqlite.Text && into.Kind() == reflect.String:
			into.SetString(r.text(column))
			return nil
		case kind == sqlite.Integer && into.CanInt() && !into.OverflowInt(r.stmt.Int64(column)):
			into.SetInt(r.stmt.Int64(column))
			return nil
		}
	}
	return fmt.Errorf("a %T is read into a %T", r.value(column), to)
}

// text returns a text, which is that of the row before where it says the same.
func (r *sqliteRows) text(column int) string {
	if text := r.stmt.Bytes(column); string(text) != r.texts[column] {
		r.texts[column] = string(text)
	}
	return r.texts[column]
}

// value returns whatever is in a column.
func (r *sqliteRows) value(column int) any {
	switch r.stmt.Kind(column) {
	case sqlite.Integer:
		return r.stmt.Int64(column)
	case sqlite.Real:
		return r.stmt.Float64(column)
	case sqlite.Text:
		return r.text(column)
	case sqlite.Blob:
		return append([]byte(nil), r.stmt.Bytes(column)...)
	default:
		return nil
	}
}
