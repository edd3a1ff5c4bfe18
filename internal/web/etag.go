package web

import "strings"

// MatchesTag reports whether the values of an If-Match or If-None-Match header contain the tag or "*".
// Weak comparison, which If-None-Match requires, ignores W/ prefixes.
func MatchesTag(fields []string, tag string, weak bool) bool {
	for _, field := range fields {
		for item := range strings.SplitSeq(field, ",") {
			item = strings.TrimSpace(item)
			if weak {
				item = strings.TrimPrefix(item, "W/")
			}
			if item == tag || item == "*" {
				return true
			}
		}
	}
	return false
}
