package staff

import "time"

const (
	// minGroup is the minimum number of changes that are shown as one line.
	minGroup = 3
	// maxGroupGap is the maximum time between two changes that follow each other in one line.
	maxGroupGap = 5 * time.Minute
)

// alike describes a change in a way that fits several changes of the same kind. Changes with equal values become one line.
type alike struct {
	verb, rest string       // what comes before and after the number of animals, such as "moved " and " to Birds"
	pet        activityText // the animal if all changes are about it, and there is no number
	many       string       // what is counted instead of animals, such as "photo"
}

// text returns the description of n changes.
func (a alike) text(n int) []activityText {
	what := "animal"
	if a.many != "" {
		what = a.many
	}
	return []activityText{{Text: a.verb + count(n, what) + a.rest}, a.pet}
}

// groupAlike puts changes of the same kind by the same person that follow each other into one entry, such as those of a
// change of many animals. The entries are sorted newest first.
func groupAlike(entries []activityEntry) (grouped []activityEntry) {
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[0].joins(entries[n]) && entries[n-1].At.Sub(entries[n].At) <= maxGroupGap {
			n++
		}
		if first := entries[0]; n >= minGroup {
			group := activityEntry{At: first.At, Type: first.Type, Actor: first.Actor, Person: first.Person, Text: first.alike.text(n)}
			for _, entry := range entries[:n] {
				group.Parts = append(group.Parts, entry.Text)
			}
			grouped = append(grouped, group)
		} else {
			grouped = append(grouped, entries[:n]...)
		}
		entries = entries[n:]
	}
	return grouped
}

// joins reports whether two changes can be in one line.
func (e activityEntry) joins(other activityEntry) bool {
	return e.alike != (alike{}) && e.alike == other.alike && e.Actor == other.Actor
}
