package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// EventType names a kind of change.
type EventType string

const (
	PetCreated      EventType = "pet.created"
	PetUpdated      EventType = "pet.updated"
	PetDeleted      EventType = "pet.deleted"
	CategoryCreated EventType = "category.created"
	CategoryUpdated EventType = "category.updated"
	CategoryDeleted EventType = "category.deleted"
	OrderPlaced     EventType = "order.placed"
	OrderApproved   EventType = "order.approved"
	OrderDelivered  EventType = "order.delivered"
	OrderCancelled  EventType = "order.cancelled"
	OrderExpired    EventType = "order.expired"
	KeyCreated      EventType = "key.created"
	KeyRotated      EventType = "key.rotated"
	KeyRevoked      EventType = "key.revoked"
	WebhookCreated  EventType = "webhook.created"
	WebhookUpdated  EventType = "webhook.updated"
	WebhookDeleted  EventType = "webhook.deleted"
)

// EventTypes returns all event types in their documented order.
func EventTypes() []EventType {
	return []EventType{
		PetCreated, PetUpdated, PetDeleted, CategoryCreated, CategoryUpdated, CategoryDeleted,
		OrderPlaced, OrderApproved, OrderDelivered, OrderCancelled, OrderExpired,
		KeyCreated, KeyRotated, KeyRevoked, WebhookCreated, WebhookUpdated, WebhookDeleted,
	}
}

// EventTypeProblem returns why a type that a client sent is invalid, or "".
func EventTypeProblem(t string) string {
	if slices.Contains(EventTypes(), EventType(t)) {
		return ""
	}
	return "must be one of " + joinWords(EventTypes(), ", ")
}

// NewEvent is an event as it is written, in the transaction of its change. The store adds the position and
// the time.
type NewEvent struct {
	Type    EventType
	Subject string // the path of the changed resource, such as pets/7
	Actor   string
	Data    []byte // a JSON object with the members current and previous
}

// StoredEvent is an event as the store returns it.
type StoredEvent struct {
	NewEvent
	ID   int64 // the position in the feed: an event that is published later has a larger position
	Time time.Time
}

// DefaultSource is the source of events unless Options sets another.
const DefaultSource = "/v1"

// Event is an event as clients see it, in the JSON format of CloudEvents 1.0.
type Event struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            EventType       `json:"type"`
	Subject         string          `json:"subject"`
	Time            time.Time       `json:"time"`
	DataContentType string          `json:"datacontenttype"`
	Actor           string          `json:"actor"`
	Data            json.RawMessage `json:"data"`
	position        int64
}

// Position returns the event's position in the feed.
func (e Event) Position() int64 { return e.position }

// event converts a stored event to the form that clients see.
func (s *Service) event(e StoredEvent) Event {
	return Event{
		SpecVersion: "1.0", ID: strconv.FormatInt(e.ID, 10), Source: s.source, Type: e.Type, Subject: e.Subject, Time: e.Time,
		DataContentType: "application/json", Actor: e.Actor, Data: e.Data, position: e.ID,
	}
}

// EventFilter selects events that match all of its fields; a zero field matches every event.
type EventFilter struct {
	Types   []EventType
	Subject string
	Newest  bool // list the newest event first instead of the oldest
}

func (f EventFilter) matches(e Event) bool {
	return (len(f.Types) == 0 || slices.Contains(f.Types, e.Type)) && (f.Subject == "" || f.Subject == e.Subject)
}

// ListEvents returns one page of the feed, oldest first. It returns events_expired if events after page.After
// were removed for their age, or events up to it were undone by a restore.
func (s *Service) ListEvents(ctx context.Context, filter EventFilter, page PageRequest) (Page[Event], error) {
	if err := s.store.Publish(ctx); err != nil { // include every write that completed before the request
		return Page[Event]{}, err
	}
	return read(ctx, s, func(tx ReadTx) (Page[Event], error) {
		if page.After != nil {
			if _, err := resumePosition(tx, *page.After); err != nil {
				return Page[Event]{}, err
			}
		}
		return pageOf(page, func(page PageRequest) ([]Event, error) { return s.events(tx, filter, page) })
	})
}

func (s *Service) events(tx ReadTx, filter EventFilter, page PageRequest) ([]Event, error) {
	stored, err := tx.Events(filter, page)
	events := make([]Event, len(stored))
	for i, e := range stored {
		events[i] = s.event(e)
	}
	return events, err
}

// resumePosition returns the position from which a reader continues. It returns events_expired along with
// another position if events after the reader's were removed for their age, or if a restore has undone events
// up to it.
func resumePosition(tx ReadTx, position int64) (int64, error) {
	horizon, err := tx.EventHorizon()
	if err != nil {
		return 0, err
	}
	if position < horizon {
		return horizon, Errorf(EventsExpired, "Events after this one were removed because of their age; read the current state, then continue after %d.", horizon)
	}
	resume, err := tx.ResumePosition(position)
	if err != nil || resume == 0 {
		return position, err
	}
	return resume, Errorf(EventsExpired, "Events up to this one were undone when the store was restored from a backup; read the current state, then continue after %d.", resume)
}

// RemoveEvents removes the events that are older than Options.EventRetention.
func (s *Service) RemoveEvents(ctx context.Context) error {
	if s.eventRetention == 0 {
		return nil
	}
	return s.inBatches(ctx, func(tx BookkeepingTx) (bool, error) {
		now, err := tx.Now()
		if err != nil {
			return false, err
		}
		return tx.RemoveEvents(s.clockGuard.cutoff(now, s.eventRetention), now)
	})
}

// eventData encodes the states after and before a change. current is nil after a deletion, previous for a new
// resource.
func eventData(current, previous any) []byte {
	return encode(struct {
		Current  any `json:"current"`
		Previous any `json:"previous"`
	}{current, previous})
}

// encode returns the JSON of a value as responses have it.
func encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // cannot happen: only our own types are encoded
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// EventReader reads the event log.
type EventReader interface {
	// Events returns at most page.Limit published events by ascending position, or by descending position for
	// filter.Newest. Every event that is published later has a larger position.
	Events(filter EventFilter, page PageRequest) ([]StoredEvent, error)
	// DailyStats counts arrivals and sales per day in the events after one position and up to another. It
	// returns every day that has an event, oldest first.
	DailyStats(after, upTo int64) ([]DayStats, error)
	// LastEvent returns the position of the newest event, even if it was removed or undone since; 0 if there
	// was none.
	LastEvent() (int64, error)
	// EventHorizon returns the position of the last event that was removed for its age, or 0.
	EventHorizon() (int64, error)
	// ResumePosition returns the position from which a reader continues if a restore has undone the events up
	// to its position; 0 if the reader's position is still valid.
	ResumePosition(position int64) (int64, error)
}

// EventBookkeeping writes the event log.
type EventBookkeeping interface {
	// InsertEvents records events in their order. Call it after the change: if one change happened before
	// another, their events are published in that order.
	InsertEvents(...NewEvent) error
	// RemoveEvents removes some of the oldest events from before a time and reports whether there may be
	// more. An event with a time after now counts as old as the event that follows it.
	RemoveEvents(before, now time.Time) (more bool, err error)
}
