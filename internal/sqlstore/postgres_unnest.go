package sqlstore

import (
	"fmt"
	"strings"
)

// unnest returns an SQL expression for a table whose columns are passed as one array each. With it, one
// statement handles any number of rows.
func unnest(types []string) string {
	return numbered("unnest(CAST($ AS " + strings.Join(types, "[]), CAST($ AS ") + "[]))")
}

// insertRows returns a statement that inserts rows in the order in which they are passed to arrays.
func insertRows(table, columns string, types []string) string {
	return "INSERT INTO " + table + " (" + columns + ") SELECT " + columns + " FROM " + unnest(types) +
		" WITH ORDINALITY AS new (" + columns + ", place) ORDER BY place"
}

// arrays returns the arguments for unnest: an array for each type. appendRow appends the values of a row to
// args.
func arrays[T any](types []string, rows []T, appendRow func(args []any, row T) []any) []any {
	columns := make([]any, len(types))
	for i, name := range types {
		switch name {
		case "BIGINT":
			columns[i] = make([]*int64, len(rows))
		case "TEXT":
			columns[i] = make([]*string, len(rows))
		case "BYTEA":
			columns[i] = make([][]byte, len(rows))
		}
	}
	var values []any
	for n, row := range rows {
		values = appendRow(values[:0], row)
		for i, value := range values {
			setElement(columns[i], n, value)
		}
	}
	return columns
}

// setElement sets an element of an array. An element stays NULL if value is nil.
func setElement(array any, n int, value any) {
	switch value := value.(type) {
	case nil:
	case int64:
		array.([]*int64)[n] = &value
	case int:
		array.([]*int64)[n] = new(int64(value))
	case string:
		array.([]*string)[n] = &value
	case []byte:
		array.([][]byte)[n] = append([]byte{}, value...) // a nil slice would become NULL
	default:
		panic(fmt.Sprintf("no array of %T can be sent", value))
	}
}
