package sqlstore

import (
	"fmt"
	"slices"
	"strings"
)

// rowsAtOnce is the maximum number of rows in one statement.
const rowsAtOnce = 500

// inChunks splits a list into parts and calls fn for each part. It passes fn the placeholders for all values in the
// part, made from row. row is a template for one element, such as ($, $). Parts have one of three sizes, so only three
// different statements have to be prepared.
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

// inPaddedChunks splits a list into parts and calls fn for each part. It passes fn the placeholders for all values in
// the part, made from row. row is a template for one element, such as ($, $). The last element is repeated until the
// part has one of three sizes. So only three different statements have to be prepared, and a list of any length needs
// one statement for every rowsAtOnce elements. The statement must have the same effect if an element is repeated.
func inPaddedChunks[T any](list []T, row string, fn func(part []T, places string) error) error {
	for len(list) > 0 {
		size := 1
		for size < min(len(list), rowsAtOnce) {
			size = min(50*size, rowsAtOnce)
		}
		n := min(size, len(list))
		part := slices.Clone(list[:n])
		for len(part) < size {
			part = append(part, list[n-1])
		}
		if err := fn(part, strings.Repeat(row+", ", size-1)+row); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// execIn executes a statement for a list of ids. In the statement, %s stands for the placeholders of the ids.
func execIn(t *tx, ids []int64, statement string) error {
	return inPaddedChunks(ids, "$", func(part []int64, places string) error {
		return t.Exec(numbered(fmt.Sprintf(statement, places)), anys(part)...)
	})
}

// allIn executes a query for a list of ids and returns its rows in no particular order. In the query, %s stands for the
// placeholders of the ids, and each $ before %s stands for one of args.
func allIn[T any](t *tx, ids []int64, scan func(Scanner) (T, error), query string, args ...any) (found []T, err error) {
	err = inPaddedChunks(ids, "$", func(part []int64, places string) error {
		some, err := all(t, scan, numbered(fmt.Sprintf(query, places)), append(slices.Clone(args), anys(part)...)...)
		found = append(found, some...)
		return err
	})
	return found, err
}
