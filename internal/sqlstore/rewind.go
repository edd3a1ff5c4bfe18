package sqlstore

import (
	"errors"
	"fmt"
	"strings"
)

// rewindSetting holds the places of events that a restore has undone, oldest first, as in "12-48 97-1000000098".
const rewindSetting = "undone_events"

// rewind are places in the feed whose events were given out and then undone: those between the last event that was kept,
// and a place that no event ever had, from which the feed goes on.
type rewind struct{ last, resume int64 }

var errBadRewind = errors.New("it does not say which events were undone")

func parseRewinds(text string) (list []rewind, err error) {
	for part := range strings.FieldsSeq(text) {
		var u rewind
		if n, err := fmt.Sscanf(part, "%d-%d", &u.last, &u.resume); n != 2 || err != nil || u.last < 0 || u.resume <= u.last {
			return nil, fmt.Errorf("%w: %q", errBadRewind, part)
		}
		list = append(list, u)
	}
	return list, nil
}

func formatRewinds(list []rewind) string {
	texts := make([]string, len(list))
	for i, u := range list {
		texts[i] = fmt.Sprintf("%d-%d", u.last, u.resume)
	}
	return strings.Join(texts, " ")
}

// addRewind adds what a restore undoes now. Those that it goes back behind are among them.
func addRewind(list []rewind, u rewind) []rewind {
	var stay []rewind
	for _, before := range list {
		if before.last < u.last {
			stay = append(stay, before)
		}
	}
	return append(stay, u)
}

// resumeAfter returns the place from which the feed goes on after those that were undone with this one, or 0 where it stands.
func resumeAfter(list []rewind, place int64) int64 {
	for _, u := range list {
		if u.last < place && place < u.resume {
			return u.resume
		}
	}
	return 0
}

// UndoneEvents returns the place after which a reader goes on whose own place was undone by a restore; 0 where it stands.
func (t *tx) UndoneEvents(place int64) (int64, error) {
	list, err := t.rewinds()
	return resumeAfter(list, place), err
}

func (t *tx) rewinds() ([]rewind, error) {
	text, _, err := one(t, scanValue[string], "SELECT value FROM settings WHERE name = '"+rewindSetting+"'")
	if err != nil {
		return nil, err
	}
	return parseRewinds(text)
}
