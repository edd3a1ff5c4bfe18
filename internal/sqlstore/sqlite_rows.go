package sqlstore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"reflect"
)

// sqliteRows are the rows that a query found.
type sqliteRows struct {
	ctx  context.Context
	rows driver.Rows
	row  []driver.Value
	err  error
}

func (r *sqliteRows) Next() bool {
	if r.err = r.ctx.Err(); r.err == nil { // whoever has gone away does not need the rest
		r.err = r.rows.Next(r.row)
	}
	return r.err == nil
}

func (r *sqliteRows) Err() error {
	if r.err == io.EOF {
		return nil
	}
	return r.err
}

func (r *sqliteRows) Close() error { return r.rows.Close() }

// Scan reads the columns of the row. It takes what the store's columns are read into, and nothing else.
func (r *sqliteRows) Scan(columns ...any) error {
	if len(columns) != len(r.row) {
		return fmt.Errorf("%d columns are read of %d", len(columns), len(r.row))
	}
	for i, column := range columns {
		if err := assign(column, r.row[i]); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

func assign(to any, value driver.Value) error {
	switch to := to.(type) {
	case *int64:
		if value, ok := value.(int64); ok {
			*to = value
			return nil
		}
	case *string:
		if value, ok := value.(string); ok {
			*to = value
			return nil
		}
	case interface{ Scan(any) error }: // what may be NULL
		return to.Scan(value)
	case *[]byte:
		if value, ok := value.([]byte); ok {
			*to = value
			return nil
		}
	default: // the shop's own kinds of numbers and texts
		into := reflect.ValueOf(to).Elem()
		switch value := value.(type) {
		case string:
			if into.Kind() == reflect.String {
				into.SetString(value)
				return nil
			}
		case int64:
			if into.CanInt() && !into.OverflowInt(value) {
				into.SetInt(value)
				return nil
			}
		}
	}
	return fmt.Errorf("a %T is read into a %T", value, to)
}
