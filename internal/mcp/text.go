package mcp

import (
	"fmt"
	"strings"
	"time"
)

// listText returns a line with the number of items, and a line for each item. one and many are the singular and
// the plural of the noun for the items.
func listText[T any](one, many string, items []T, line func(T) string) string {
	noun := many
	if len(items) == 1 {
		noun = one
	}
	lines := []string{fmt.Sprintf("%d %s", len(items), noun)}
	for _, item := range items {
		lines = append(lines, line(item))
	}
	return strings.Join(lines, "\n")
}

// moreText returns the line that follows a list and names the cursor of the next page, or "" if there is no
// next page.
func moreText(cursor string) string {
	if cursor == "" {
		return ""
	}
	return fmt.Sprintf("\nThere are more; continue with cursor %s.", cursor)
}

func timeText(at time.Time) string { return at.UTC().Format(time.RFC3339) }
