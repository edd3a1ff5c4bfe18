package sqlstore

import (
	"errors"
	"fmt"
	"strings"
)

// rewindSetting is the setting that records rewinds, oldest first, as in "12-48 97-1000000098".
const rewindSetting = "undone_events"

// rewind is what a restore did to the event feed: the events after last were published and then undone. The
// feed resumes after resume, a position that no event ever had.
type rewind struct{ last, resume int64 }

var errBadRewind = errors.New("invalid range of undone events")

func parseRewinds(text string) (list []rewind, err error) {
	for part := range strings.FieldsSeq(text) {
		var r rewind
		if n, err := fmt.Sscanf(part, "%d-%d", &r.last, &r.resume); n != 2 || err != nil || r.last < 0 || r.resume <= r.last {
			return nil, fmt.Errorf("%w: %q", errBadRewind, part)
		}
		list = append(list, r)
	}
	return list, nil
}

func formatRewinds(list []rewind) string {
	texts := make([]string, len(list))
	for i, r := range list {
		texts[i] = fmt.Sprintf("%d-%d", r.last, r.resume)
	}
	return strings.Join(texts, " ")
}

// addRewind adds a rewind, which replaces those that began at the same position or later.
func addRewind(list []rewind, r rewind) []rewind {
	var stay []rewind
	for _, before := range list {
		if before.last < r.last {
			stay = append(stay, before)
		}
	}
	return append(stay, r)
}

// resumeAfter returns the position at which a reader resumes whose position was undone, or 0 for a position
// that stands.
func resumeAfter(list []rewind, position int64) int64 {
	for _, r := range list {
		if r.last < position && position < r.resume {
			return r.resume
		}
	}
	return 0
}

// ResumePosition returns the position after which a reader resumes whose position a restore has undone; 0 for
// one that stands.
func (t *tx) ResumePosition(position int64) (int64, error) {
	list, err := t.rewinds()
	return resumeAfter(list, position), err
}

func (t *tx) rewinds() ([]rewind, error) {
	text, _, err := one(t, scanValue[string], "SELECT value FROM settings WHERE name = '"+rewindSetting+"'")
	if err != nil {
		return nil, err
	}
	return parseRewinds(text)
}
