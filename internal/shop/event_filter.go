package shop

import (
	"slices"
	"time"
)

// EventFilter selects the events that match all of its fields. Fields with their zero value match every
// event.
type EventFilter struct {
	Types    []EventType
	Subjects []string // selects events with one of these subjects; empty means every subject
	Actor    string
	Since    time.Time // selects events at this time or later
	Until    time.Time // selects events before this time
	Public   bool      // leaves out the types that are not public
	Known    bool      // leaves out the types that a client receives only if it names them
	Newest   bool      // returns the newest events first instead of the oldest
}

// Matches reports whether the filter selects an event.
func (f EventFilter) Matches(e StoredEvent) bool {
	return (len(f.Types) == 0 || slices.Contains(f.Types, e.Type)) && (len(f.Subjects) == 0 || slices.Contains(f.Subjects, e.Subject)) &&
		(f.Actor == "" || f.Actor == e.Actor) && (f.Since.IsZero() || !e.Time.Before(f.Since)) && (f.Until.IsZero() || e.Time.Before(f.Until)) &&
		(!f.Public || e.Type.IsPublic()) && (!f.Known || !e.Type.MustBeNamed())
}

// UsesSummaries reports whether the filter selects events by actor or time. There is no index for these, so summaries
// are used to skip events that cannot match.
func (f EventFilter) UsesSummaries() bool {
	return f.Actor != "" || !f.Since.IsZero() || !f.Until.IsZero()
}

// matches is like Matches, for an event in the form that clients see.
func (f EventFilter) matches(e Event) bool {
	return f.Matches(StoredEvent{NewEvent: NewEvent{Type: e.Type, Subject: e.Subject, Actor: e.Actor}, Time: e.Time})
}
