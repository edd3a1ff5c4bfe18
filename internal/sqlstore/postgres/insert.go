package postgres

import (
	"fmt"
	"strings"

	"animalstore/internal/sqlstore/engine"
)

// Unnest returns an SQL expression for a table whose columns are passed as one array each, in the parameters $1, $2 and
// so on. With it, one statement handles any number of rows.
func Unnest(types []string) string {
	columns := make([]string, len(types))
	for i, name := range types {
		columns[i] = fmt.Sprintf("CAST($%d AS %s[])", i+1, name)
	}
	return "unnest(" + strings.Join(columns, ", ") + ")"
}

// insertSQL returns a statement that inserts rows in the order in which they are passed to Arrays. If into.First is set,
// it is an SQL expression for the first column, such as the server's time, and the arrays are only for the others.
func insertSQL(into *engine.Insertion) string {
	given, selected := into.Columns, into.Columns
	if into.First != "" {
		_, given, _ = strings.Cut(into.Columns, ", ")
		selected = into.First + ", " + given
	}
	return "INSERT INTO " + into.Table + " (" + into.Columns + ") SELECT " + selected + " FROM " + Unnest(into.Types) +
		" WITH ORDINALITY AS new (" + given + ", position) ORDER BY position"
}

// Arrays returns the arguments for Unnest: an array of n elements for each type. appendRow appends the values of one
// row to args.
func Arrays(types []string, n int, appendRow func(args []any, row int) []any) []any {
	columns := make([]any, len(types))
	for i, name := range types {
		switch name {
		case "BIGINT":
			columns[i] = make([]*int64, n)
		case "TEXT":
			columns[i] = make([]*string, n)
		case "BYTEA":
			columns[i] = make([][]byte, n)
		default:
			panic("no array of the SQL type " + name + " can be sent")
		}
	}
	var values []any
	for row := range n {
		values = appendRow(values[:0], row)
		for i, value := range values {
			setElement(columns[i], row, value)
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
