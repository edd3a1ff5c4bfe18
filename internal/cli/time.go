package cli

import (
	"fmt"
	"time"
)

// timeFlag holds the --utc flag for commands that print or accept times.
type timeFlag struct {
	UTC bool `name:"utc" help:"Use UTC instead of the local time zone."`
}

// zone returns the time zone in which times are printed and in which dates without a time zone are read.
func (f timeFlag) zone() *time.Location {
	if f.UTC {
		return time.UTC
	}
	return time.Local
}

// format formats a time for people. If the time is zero, format returns the text none.
func (f timeFlag) format(at time.Time, none string) string {
	if at.IsZero() {
		return none
	}
	return at.In(f.zone()).Format("2006-01-02 15:04 MST")
}

// parsePast parses a time. A duration such as 3d means that long ago. For "", parsePast returns the zero time.
func (f timeFlag) parsePast(text string) (time.Time, error) { return f.parse(text, -1) }

// parseFuture parses a time. A duration such as 3d means that long from now. For "", parseFuture returns the zero
// time.
func (f timeFlag) parseFuture(text string) (time.Time, error) { return f.parse(text, 1) }

// namedDays maps each word for a day to its distance from today in days.
var namedDays = map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}

// parse parses a time, a date, a word such as yesterday, or a duration. A date or a word stands for midnight in the
// flag's time zone. A duration is added to the current time if sign is 1, and subtracted from it if sign is -1.
func (f timeFlag) parse(text string, sign time.Duration) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	now := time.Now().In(f.zone())
	if days, ok := namedDays[text]; ok {
		year, month, day := now.Date()
		return time.Date(year, month, day+days, 0, 0, 0, 0, f.zone()).UTC(), nil
	}
	if duration, err := parseDuration(text); err == nil && duration >= 0 && duration <= maxRelative {
		return now.Add(sign * duration).UTC(), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, f.zone()); err == nil && !at.IsZero() {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("invalid time %q; expected a date or time such as 2027-01-31 or 2027-01-31T18:00:00Z, "+
		"a duration such as 3d, or yesterday, today or tomorrow", text)
}

// maxRelative is the longest duration that parse accepts.
const maxRelative = 100 * 365 * day
