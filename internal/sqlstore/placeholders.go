package sqlstore

import (
	"fmt"
	"strings"
)

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
