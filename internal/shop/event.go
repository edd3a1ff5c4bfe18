package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// EventType says what happened.
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

// EventTypes are all that can happen.
func EventTypes() []EventType {
	return []EventType{
		PetCreated, PetUpdated, PetDeleted, CategoryCreated, CategoryUpdated, CategoryDeleted,
		OrderPlaced, OrderApproved, OrderDelivered, OrderCancelled, OrderExpired,
		KeyCreated, KeyRotated, KeyRevoked, WebhookCreated, WebhookUpdated, WebhookDeleted,
	}
}

// EventTypeProblem says what is wrong with a type that a client sent, or "".
func EventTypeProblem(t string) string {
	if slices.Contains(EventTypes(), EventType(t)) {
		return ""
	}
	return "must be one of " + joinWords(EventTypes(), ", ")
}

// NewEvent is one change as it is written, in the transaction of the change; the store adds the position and the time.
type NewEvent struct {
	Type    EventType
	Subject string // the path of what changed, such as pets/7
	Actor   string
	Data    []byte // JSON: what it is now and what it was before, in current and previous
}

// StoredEvent is an event as the store gives it back.
type StoredEvent struct {
	NewEvent
	ID   int64 // its position: events are read in the order of their ids, and none ever appears behind one that was read
	Time time.Time
}

// DefaultSource names the shop in its events where nothing else does.
const DefaultSource = "/v1"

// Event is what is told of a change, as CloudEvents 1.0 says it in JSON.
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

// Position is where the event stands in the feed.
func (e Event) Position() int64 { return e.position }

// event makes an event fit to be told.
func (s *Service) event(e StoredEvent) Event {
	return Event{
		SpecVersion: "1.0", ID: strconv.FormatInt(e.ID, 10), Source: s.source, Type: e.Type, Subject: e.Subject, Time: e.Time,
		DataContentType: "application/json", Actor: e.Actor, Data: e.Data, position: e.ID,
	}
}

// EventFilter narrows the feed; what is zero does not. Its parts combine with "and".
type EventFilter struct {
	Types   []EventType
	Subject string
	Newest  bool // first, in place of the oldest
}

func (f EventFilter) matches(e Event) bool {
	return (len(f.Types) == 0 || slices.Contains(f.Types, e.Type)) && (f.Subject == "" || f.Subject == e.Subject)
}

// ListEvents returns one page of the feed, oldest first. It returns events_expired where some that would follow the
// window's position have been removed for their age, or those up to it undone.
func (s *Service) ListEvents(ctx context.Context, filter EventFilter, w PageRequest) (Page[Event], error) {
	if err := s.store.Publish(ctx); err != nil { // so that all that was answered before is told
		return Page[Event]{}, err
	}
	return read(ctx, s, func(tx ReadTx) (Page[Event], error) {
		if w.After != nil {
			if _, err := resumePosition(tx, *w.After); err != nil {
				return Page[Event]{}, err
			}
		}
		return pageOf(w, func(w PageRequest) ([]Event, error) { return s.events(tx, filter, w) })
	})
}

func (s *Service) events(tx ReadTx, filter EventFilter, w PageRequest) ([]Event, error) {
	stored, err := tx.Events(filter, w)
	events := make([]Event, len(stored))
	for i, e := range stored {
		events[i] = s.event(e)
	}
	return events, err
}

// resumePosition returns the position from which a reader goes on that has come to another. It returns events_expired where that is
// not the same: because events after it are gone, or because it has seen some that never happened, after a restore.
func resumePosition(tx ReadTx, position int64) (int64, error) {
	horizon, err := tx.EventHorizon()
	if err != nil {
		return 0, err
	}
	if position < horizon {
		return horizon, Errorf(EventsExpired, "Events after this one have been removed for their age; read what there is now, and go on after %d.", horizon)
	}
	goOn, err := tx.ResumePosition(position)
	if err != nil || goOn == 0 {
		return position, err
	}
	return goOn, Errorf(EventsExpired, "Events up to this one were undone when the store was restored from a backup; read what there is now, and go on after %d.", goOn)
}

// RemoveEvents removes the events that are older than the retention.
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

// eventData is what an event says of a thing: what it is now and what it was before; nil where there is none.
func eventData(current, previous any) []byte {
	return encode(struct {
		Current  any `json:"current"`
		Previous any `json:"previous"`
	}{current, previous})
}

// encode writes a thing as it is answered.
func encode(thing any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(thing); err != nil {
		panic(err) // our own types always encode
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// EventReader reads the event log.
type EventReader interface {
	// Events returns at most page.Limit published events by ascending position, or by descending position for
	// filter.Newest. Every event that is published later has a larger position.
	Events(filter EventFilter, page PageRequest) ([]StoredEvent, error)
	// DailyStats counts arrivals and sales per day in the events after one position and up to another. It returns every
	// day that has an event, oldest first.
	DailyStats(after, upTo int64) ([]DayStats, error)
	// LastEvent returns the position of the newest event, even if it was removed or undone since; 0 if there was none.
	LastEvent() (int64, error)
	// EventHorizon returns the position of the last event that was removed for its age, or 0.
	EventHorizon() (int64, error)
	// ResumePosition returns the position from which a reader continues if a restore has undone the events up to its
	// position; 0 if the reader's position is still valid.
	ResumePosition(position int64) (int64, error)
}

// EventBookkeeping writes the event log.
type EventBookkeeping interface {
	// InsertEvent records an event. Call it after the change: if one change happened before another, their events are
	// published in that order.
	InsertEvent(NewEvent) error
	// InsertEvents is InsertEvent for several events, in their order.
	InsertEvents([]NewEvent) error
	// RemoveEvents removes some of the oldest events from before a time and reports whether there may be more. An event
	// with a time after now counts as old as the event that follows it.
	RemoveEvents(before, now time.Time) (more bool, err error)
}
