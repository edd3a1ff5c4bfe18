package sqlstore

import (
	"fmt"
	"strings"
)

// rowsAtOnce is the maximum number of rows in one statement.
const rowsAtOnce = 500

// inChunks splits a list into parts and calls fn for each part. places contains placeholders for all values
// in the part. It is made from row, a template for one element such as ($, $). Parts have one of three sizes,
// so only three different statements have to be prepared.
func inChunks[T any](list []T, row string, fn func(part []T, places string) error) error {
	for _, size := range []int{rowsAtOnce, rowsAtOnce / 10, 1} {
		for places := ""; len(list) >= size; list = list[size:] {
			if places == "" {
				places = numbered(strings.Repeat(row+", ", size-1) + row)
			}
			if err := fn(list[:size], places); err != nil {
				return err
			}
		}
	}
	return nil
}

// allIn returns the rows of a query for a list of ids, whose placeholders replace %s in the query. The rows are in
// no particular order. The last id fills the places that are left over, so only three different statements have
// to be prepared, and a list of any length needs one statement for every rowsAtOnce ids.
func allIn[T any](t *tx, ids []int64, scan func(Scanner) (T, error), query string) (found []T, err error) {
	for len(ids) > 0 {
		size := 1
		for size < min(len(ids), rowsAtOnce) {
			size = min(50*size, rowsAtOnce)
		}
		n := min(size, len(ids))
		args := anys(ids[:n])
		for len(args) < size {
			args = append(args, ids[n-1])
		}
		some, err := all(t, scan, fmt.Sprintf(query, numbered("$"+strings.Repeat(", $", size-1))), args...)
		if err != nil {
			return nil, err
		}
		found, ids = append(found, some...), ids[n:]
	}
	return found, nil
}

// placeholders returns a row of n placeholders without numbers, such as ($, $).
func placeholders(n int) string { return "($" + strings.Repeat(", $", n-1) + ")" }

// numbered replaces the dollar signs in a text with $1, $2 and so on.
func numbered(text string) string {
	var all strings.Builder
	for i, part := range strings.Split(text, "$") {
		if i > 0 {
			fmt.Fprintf(&all, "$%d", i)
		}
		all.WriteString(part)
	}
	return all.String()
}

func anys[T any](values []T) []any {
	all := make([]any, len(values))
	for i, value := range values {
		all[i] = value
	}
	return all
}
