package sqlstore

import (
	"errors"
	"fmt"
	"strings"
)

// RewindSetting is the name of the setting that lists all rewinds, oldest first, for example "12-48
// 97-1000000098".
const RewindSetting = "undone_events"

// Rewind describes how a restore changed the event feed. The events after position Last had been published
// and were undone by the restore. The feed resumes after position Resume, which no event has ever had.
type Rewind struct{ Last, Resume int64 }

// Rewinds is the list of all rewinds of a store, oldest first.
type Rewinds []Rewind

var errBadRewind = errors.New("invalid range of undone events")

// ParseRewinds parses a text that was returned by Rewinds.String.
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

// String returns the list in the format of RewindSetting.
func (list Rewinds) String() string {
	texts := make([]string, len(list))
	for i, r := range list {
		texts[i] = fmt.Sprintf("%d-%d", r.Last, r.Resume)
	}
	return strings.Join(texts, " ")
}

// Add returns the list with r added. Rewinds that began at the same position as r or later are dropped,
// because r replaces them.
func (list Rewinds) Add(r Rewind) Rewinds {
	var stay Rewinds
	for _, before := range list {
		if before.Last < r.Last {
			stay = append(stay, before)
		}
	}
	return append(stay, r)
}

// ResumeAfter returns the position after which a reader must resume if its own position was undone. It
// returns 0 if the reader's position is still valid.
func (list Rewinds) ResumeAfter(position int64) int64 {
	for _, r := range list {
		if r.Last < position && position < r.Resume {
			return r.Resume
		}
	}
	return 0
}

// ResumePosition returns the position after which a reader must resume if a restore has undone its own
// position. It returns 0 if the reader's position is still valid.
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
