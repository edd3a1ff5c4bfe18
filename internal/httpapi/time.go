package httpapi

import (
	"regexp"
	"strings"
	"time"
)

// rfc3339 matches only times that RFC 3339 allows. time.Parse alone would accept more, such as the offset +24:00.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// invalidTime says what is wrong with a text that parseTime does not accept.
const invalidTime = "must be a time such as 2027-01-31T18:00:00Z"

// parseTime parses a time in RFC 3339 format. A leap second counts as the second after it. The zero time counts as
// the nanosecond after it, because it means "no time" elsewhere. parseTime does not accept a time whose year in UTC
// does not have four digits, because such a time could not be sent back.
func parseTime(text string) (time.Time, bool) {
	if !rfc3339.MatchString(text) {
		return time.Time{}, false
	}
	const seconds = len("2006-01-02T15:04:")
	text, isLeap := strings.ToUpper(text), text[seconds:seconds+2] == "60"
	if isLeap {
		text = text[:seconds] + "59" + text[seconds+2:]
	}
	at, err := time.Parse(time.RFC3339, text)
	if isLeap {
		at = at.Truncate(time.Second).Add(time.Second)
	}
	if at.IsZero() {
		at = at.Add(time.Nanosecond)
	}
	at = at.UTC()
	isMidnight := at.Truncate(24 * time.Hour).Equal(at)
	return at, err == nil && at.Year() >= 0 && at.Year() <= 9999 && (isMidnight || !isLeap)
}
