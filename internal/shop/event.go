package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// EventType is the kind of change that an event reports.
type EventType string

const (
	PetCreated      EventType = "pet.created"
	PetUpdated      EventType = "pet.updated"
	PetDeleted      EventType = "pet.deleted"
	PetRestored     EventType = "pet.restored"
	CategoryCreated EventType = "category.created"
	CategoryUpdated EventType = "category.updated"
	CategoryDeleted EventType = "category.deleted"
	OrderPlaced     EventType = "order.placed"
	OrderUpdated    EventType = "order.updated" // the reference or the end of the hold was changed
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
	ProfileUpdated  EventType = "profile.updated"
	StoreUpdated    EventType = "store.updated"
)

// EventTypes returns all event types in the order in which they are documented.
func EventTypes() []EventType {
	return []EventType{
		PetCreated, PetUpdated, PetDeleted, PetRestored, CategoryCreated, CategoryUpdated, CategoryDeleted,
		OrderPlaced, OrderUpdated, OrderApproved, OrderDelivered, OrderCancelled, OrderExpired,
		KeyCreated, KeyRotated, KeyRevoked, WebhookCreated, WebhookUpdated, WebhookDeleted,
		ProfileUpdated, StoreUpdated,
	}
}

// MustBeNamed reports whether a client receives events of this type only if it names the type. Clients that were written
// for version 1.1 do not know the types that came later.
func (t EventType) MustBeNamed() bool { return t == ProfileUpdated || t == StoreUpdated }

// IsPublic reports whether every key with the events:read scope may see events of this type. Events about keys,
// webhooks and the store require the admin scope. The URL of a webhook may contain a token.
func (t EventType) IsPublic() bool {
	kind, _, _ := strings.Cut(string(t), ".")
	return kind == "pet" || kind == "category" || kind == "order" || kind == "profile"
}

// EventTypeProblem explains why an event type sent by a client is invalid. It returns "" if the type is
// valid.
func EventTypeProblem(t string) string {
	if slices.Contains(EventTypes(), EventType(t)) {
		return ""
	}
	return "must be one of " + joinWords(EventTypes(), ", ")
}

// NewEvent is an event to be written in the same transaction as the change that it reports. The store adds
// the position and the time.
type NewEvent struct {
	Type    EventType
	Subject string // the path of the changed resource, such as pets/7
	Actor   string
	Data    []byte // a JSON object with the members current and previous
}

// StoredEvent is an event that was read from the store.
type StoredEvent struct {
	NewEvent
	ID   int64 // the event's position in the feed; events published later have larger positions
	Time time.Time
}

// DefaultSource is the value of the source field in events if Options.Source is empty.
const DefaultSource = "/v1"

// Event is an event in the form that clients see, which is the JSON format of CloudEvents 1.0.
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
	traceparent     string
}

// Position returns the event's position in the feed.
func (e Event) Position() int64 { return e.position }

// event converts a stored event to the form that clients see.
func (s *Service) event(e StoredEvent) Event {
	data, traceparent := cutTraceparent(e.Data)
	if e.Type == ProfileUpdated {
		data = AbsolutePhotoURLs(data, PhotoBase(s.source))
	}
	return Event{
		SpecVersion: "1.0", ID: strconv.FormatInt(e.ID, 10), Source: s.source, Type: e.Type, Subject: e.Subject, Time: e.Time,
		DataContentType: "application/json", Actor: e.Actor, Data: data, position: e.ID, traceparent: traceparent,
	}
}

// ListEvents returns one page of the feed, oldest event first unless filter.Newest is set. The work for one page is
// bounded, so the page may have fewer events than the limit, or none, even if more pages follow. ListEvents fails
// with events_expired if events after page.After were removed because of their age, or if events up to page.After
// were undone by a restore.
func (s *Service) ListEvents(ctx context.Context, by Caller, filter EventFilter, page PageRequest) (Page[Event], error) {
	// Publish first, so that the page includes every write that completed before this request.
	if err := s.store.Publish(ctx); err != nil {
		return Page[Event]{}, err
	}
	return read(ctx, s, Reading{By: by, Heavy: filter.isHeavy()}, func(tx ReadTx) (Page[Event], error) {
		if page.After != nil {
			if _, err := resumePosition(tx, *page.After); err != nil {
				return Page[Event]{}, err
			}
		}
		return s.events(tx, filter, page)
	})
}

func (s *Service) events(tx ReadTx, filter EventFilter, page PageRequest) (Page[Event], error) {
	stored, err := tx.Events(filter, page)
	events := make([]Event, len(stored.Items))
	for i, e := range stored.Items {
		events[i] = s.event(e)
	}
	return Page[Event]{Items: events, More: stored.More, Stopped: stored.Stopped}, err
}

// resumePosition returns the position from which a reader at the given position can continue. This is
// normally the given position. If events after it were removed because of their age, or if events up to it
// were undone by a restore, resumePosition returns a later position together with the error events_expired.
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

// neededRetention is how much longer than Options.EventRetention events are kept that a webhook has not reached yet. A
// webhook that is down is disabled after a little more than three days.
const neededRetention = 4 * 24 * time.Hour

// RemoveEvents removes the events that are older than Options.EventRetention. Events that a webhook has not reached yet
// are kept for longer, but at most for neededRetention.
func (s *Service) RemoveEvents(ctx context.Context) error {
	if s.eventRetention == 0 {
		return nil
	}
	return s.inBatches(ctx, func(tx BookkeepingTx) (bool, error) {
		now, err := tx.Now()
		if err != nil {
			return false, err
		}
		return tx.RemoveEvents(now.Add(-s.eventRetention), now.Add(-s.eventRetention-neededRetention), now)
	})
}

// eventData encodes the state of a resource after a change and its state before the change. current is nil if
// the resource was deleted. previous is nil if the resource is new.
func eventData(current, previous any) []byte {
	return encode(struct {
		Current  any `json:"current"`
		Previous any `json:"previous"`
	}{current, previous})
}

// encode returns a value as JSON, formatted as in API responses.
func encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // cannot happen, because only our own types are encoded
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// EventReader contains the methods of ReadTx that read events.
type EventReader interface {
	// Events returns one page of the published events, sorted by ascending position. If filter.Newest is set, it
	// sorts them by descending position. The page may have fewer events than its limit even if more follow, because
	// the number of events that are compared with the filter is limited. Every event published later has a larger
	// position.
	Events(filter EventFilter, page PageRequest) (Page[StoredEvent], error)
	// NewestEvents returns at most n events about a resource, newest first, even if they are not published yet.
	// The id of an event that is not published yet is not its position in the feed.
	NewestEvents(subject string, n int) ([]StoredEvent, error)
	// LastEvent returns the position of the newest event, even if that event has been removed or undone
	// since. It returns 0 if there has never been an event.
	LastEvent() (int64, error)
	// EventHorizon returns the position of the last event that was removed because of its age, or 0 if
	// none was removed.
	EventHorizon() (int64, error)
	// NextEventBlock summarizes the oldest events that are not in a block yet. found is false if there are too few of
	// them for a block.
	NextEventBlock() (block EventBlock, found bool, err error)
	// ResumePosition returns the position from which a reader must continue if a restore has undone the
	// events up to the reader's position. It returns 0 if the reader's position is still valid.
	ResumePosition(position int64) (int64, error)
}

// EventBookkeeping contains the methods of Bookkeeping that add and remove events.
type EventBookkeeping interface {
	// InsertEvents stores events in the given order. It must be called after the change that the events
	// report has been made. This ensures that the events of two successive changes are published in the
	// order of the changes.
	InsertEvents(...NewEvent) error
	// AddEventBlock stores a block from NextEventBlock. It does nothing if the block no longer follows the last stored
	// one, because another node has stored blocks or removed events in the meantime.
	AddEventBlock(EventBlock) error
	// RemoveEvents removes a limited number of the oldest events from before the given time and reports whether there
	// may be more to remove. An event that some webhook has not reached yet is removed only if it is from before the
	// time needed. An event whose time is after now was stored while the clock was wrong. It is treated as if it were
	// as old as the next event.
	RemoveEvents(before, needed, now time.Time) (more bool, err error)
}
