package sqlstore

import (
	"fmt"
	"strings"
)

// rowsAtOnce bounds the rows of one statement.
const rowsAtOnce = 500

// inChunks calls fn with parts of a list, and with the placeholders for their values, built from a row such
// as ($, $). Parts have one of three sizes, so that there are three statements to prepare.
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

// placeholders returns a row of n unnumbered placeholders, such as ($, $).
func placeholders(n int) string { return "($" + strings.Repeat(", $", n-1) + ")" }

// numbered numbers each $ of a text.
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
