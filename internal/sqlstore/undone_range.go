package sqlstore

import (
	"errors"
	"fmt"
	"strings"
)

// UndoneRangesSetting is the name of the setting that lists all undone ranges, oldest first, for example
// "12-48 97-1000000098".
const UndoneRangesSetting = "undone_events"

// UndoneRange is a range of the event feed that a restore has undone. The events after position Last had been
// published. The feed resumes after position Resume, which no event has ever had.
type UndoneRange struct{ Last, Resume int64 }

// UndoneRanges is the list of all undone ranges of a store, oldest first.
type UndoneRanges []UndoneRange

var errBadRange = errors.New("invalid range of undone events")

// ParseUndoneRanges parses a text that was returned by UndoneRanges.String.
func ParseUndoneRanges(text string) (list UndoneRanges, err error) {
	for part := range strings.FieldsSeq(text) {
		var r UndoneRange
		if n, err := fmt.Sscanf(part, "%d-%d", &r.Last, &r.Resume); n != 2 || err != nil || r.Last < 0 || r.Resume <= r.Last {
			return nil, fmt.Errorf("%w: %q", errBadRange, part)
		}
		list = append(list, r)
	}
	return list, nil
}

// String returns the list in the format of UndoneRangesSetting.
func (list UndoneRanges) String() string {
	texts := make([]string, len(list))
	for i, r := range list {
		texts[i] = fmt.Sprintf("%d-%d", r.Last, r.Resume)
	}
	return strings.Join(texts, " ")
}

// Add returns the list with r added. Ranges that began at the same position as r or later are dropped,
// because r replaces them.
func (list UndoneRanges) Add(r UndoneRange) UndoneRanges {
	var stay UndoneRanges
	for _, before := range list {
		if before.Last < r.Last {
			stay = append(stay, before)
		}
	}
	return append(stay, r)
}

// ResumeAfter returns the position after which a reader must resume if its own position was undone. It
// returns 0 if the reader's position is still valid.
func (list UndoneRanges) ResumeAfter(position int64) int64 {
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
	list, err := t.undoneRanges()
	return list.ResumeAfter(position), err
}

func (t *tx) undoneRanges() (UndoneRanges, error) {
	text, _, err := one(t, scanValue[string], "SELECT value FROM settings WHERE name = '"+UndoneRangesSetting+"'")
	if err != nil {
		return nil, err
	}
	return ParseUndoneRanges(text)
}
