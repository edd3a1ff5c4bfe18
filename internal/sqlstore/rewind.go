package sqlstore

import (
	"errors"
	"fmt"
	"strings"
)

// RewindSetting is the setting that records rewinds, oldest first, as in "12-48 97-1000000098".
const RewindSetting = "undone_events"

// Rewind is what a restore did to the event feed: the events after Last were published and then undone. The
// feed resumes after Resume, a position that no event ever had.
type Rewind struct{ Last, Resume int64 }

// Rewinds are all rewinds of a store, oldest first.
type Rewinds []Rewind

var errBadRewind = errors.New("invalid range of undone events")

// ParseRewinds parses the text of String.
func ParseRewinds(text string) (list Rewinds, err error) {
	for part := range strings.FieldsSeq(text) {
		var r Rewind
		if n, err := fmt.Sscanf(part, "%d-%d", &r.Last, &r.Resume); n != 2 || err != nil || r.Last < 0 || r.Resume <= r.Last {
			return nil, fmt.Errorf("%w: %q", errBadRewind, part)
		}
		list = append(list, r)
	}
	return list, nil
}

// String returns the value of the setting.
func (list Rewinds) String() string {
	texts := make([]string, len(list))
	for i, r := range list {
		texts[i] = fmt.Sprintf("%d-%d", r.Last, r.Resume)
	}
	return strings.Join(texts, " ")
}

// Add returns the list with another rewind, which replaces those that began at the same position or later.
func (list Rewinds) Add(r Rewind) Rewinds {
	var stay Rewinds
	for _, before := range list {
		if before.Last < r.Last {
			stay = append(stay, before)
		}
	}
	return append(stay, r)
}

// ResumeAfter returns the position at which a reader resumes whose position was undone, or 0 for a position
// that stands.
func (list Rewinds) ResumeAfter(position int64) int64 {
	for _, r := range list {
		if r.Last < position && position < r.Resume {
			return r.Resume
		}
	}
	return 0
}

// ResumePosition returns the position after which a reader resumes whose position a restore has undone; 0 for
// one that stands.
func (t *tx) ResumePosition(position int64) (int64, error) {
	list, err := t.rewinds()
	return list.ResumeAfter(position), err
}

func (t *tx) rewinds() (Rewinds, error) {
	text, _, err := one(t, scanValue[string], "SELECT value FROM settings WHERE name = '"+RewindSetting+"'")
	if err != nil {
		return nil, err
	}
	return ParseRewinds(text)
}
