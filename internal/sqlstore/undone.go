package sqlstore

import (
	"errors"
	"fmt"
	"strings"
)

// undoneSetting holds the places of events that a restore has undone, oldest first, as in "12-48 97-1000000098".
const undoneSetting = "undone_events"

// undoneEvents are places in the feed whose events were given out and then undone: those between the last event that was kept,
// and a place that no event ever had, from which the feed goes on.
type undoneEvents struct{ kept, goOn int64 }

var errUndone = errors.New("it does not say which events were undone")

func parseUndone(text string) (list []undoneEvents, err error) {
	for part := range strings.FieldsSeq(text) {
		var u undoneEvents
		if n, err := fmt.Sscanf(part, "%d-%d", &u.kept, &u.goOn); n != 2 || err != nil || u.kept < 0 || u.goOn <= u.kept {
			return nil, fmt.Errorf("%w: %q", errUndone, part)
		}
		list = append(list, u)
	}
	return list, nil
}

func undoneText(list []undoneEvents) string {
	texts := make([]string, len(list))
	for i, u := range list {
		texts[i] = fmt.Sprintf("%d-%d", u.kept, u.goOn)
	}
	return strings.Join(texts, " ")
}

// addUndone adds what a restore undoes now. Those that it goes back behind are among them.
func addUndone(list []undoneEvents, u undoneEvents) []undoneEvents {
	var stay []undoneEvents
	for _, before := range list {
		if before.kept < u.kept {
			stay = append(stay, before)
		}
	}
	return append(stay, u)
}

// findUndone returns the place from which the feed goes on after those that were undone with this one, or 0 where it stands.
func findUndone(list []undoneEvents, place int64) int64 {
	for _, u := range list {
		if u.kept < place && place < u.goOn {
			return u.goOn
		}
	}
	return 0
}

// ResumePosition returns the place after which a reader goes on whose own place was undone by a restore; 0 where it stands.
func (t *tx) ResumePosition(place int64) (int64, error) {
	list, err := t.undone()
	return findUndone(list, place), err
}

func (t *tx) undone() ([]undoneEvents, error) {
	text, _, err := one(t, scanValue[string], "SELECT value FROM settings WHERE name = '"+undoneSetting+"'")
	if err != nil {
		return nil, err
	}
	return parseUndone(text)
}
