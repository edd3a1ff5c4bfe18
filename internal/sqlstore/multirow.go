package sqlstore

import (
	"fmt"
	"strings"
)

// rowsAtOnce is how many rows one statement writes or asks for.
const rowsAtOnce = 500

// inChunks calls a function with parts of a list, and with the places of their values, made of a row such as ($, $). There
// are a few sizes only: each has a statement of its own, to be prepared once.
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

// numbered gives each $ of a text its number.
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
