package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// EventType is the kind of change that an event reports. New types may be added.
type EventType string

const (
	EventPetCreated      EventType = "pet.created"
	EventPetUpdated      EventType = "pet.updated" // also sent when an order changes the status of an animal
	EventPetDeleted      EventType = "pet.deleted"
	EventPetRestored     EventType = "pet.restored" // a deleted animal is back; there is no previous state
	EventCategoryCreated EventType = "category.created"
	EventCategoryUpdated EventType = "category.updated"
	EventCategoryDeleted EventType = "category.deleted"
	EventOrderPlaced     EventType = "order.placed"
	EventOrderUpdated    EventType = "order.updated" // the reference or the end of the hold has changed, but not the status
	EventOrderApproved   EventType = "order.approved"
	EventOrderDelivered  EventType = "order.delivered"
	EventOrderCancelled  EventType = "order.cancelled"
	EventOrderExpired    EventType = "order.expired"
	EventKeyCreated      EventType = "key.created"
	EventKeyRotated      EventType = "key.rotated"
	EventKeyRevoked      EventType = "key.revoked"
	EventWebhookCreated  EventType = "webhook.created"
	EventWebhookUpdated  EventType = "webhook.updated"
	EventWebhookDeleted  EventType = "webhook.deleted"
	EventProfileUpdated  EventType = "profile.updated" // never with internal members; delivered only to those who name it
	EventStoreUpdated    EventType = "store.updated"   // needs the admin scope; delivered only to those who name it
	// EventWebhookTest is the type of the messages that [Client.TestWebhook] sends. These messages do not
	// appear in the event feed.
	EventWebhookTest EventType = "webhook.test"
)

// Event describes one change in the format defined by CloudEvents 1.0.
type Event struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"` // a number in decimal digits; a later event has a larger number
	Source          string    `json:"source"`
	Type            EventType `json:"type"`
	Subject         string    `json:"subject"` // the path of the changed resource, such as pets/7
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Actor           string    `json:"actor"` // who made the change: keys/ID, configured or system
	Data            EventData `json:"data"`
}

// EventData holds the resource before and after the change as JSON. Current is nil if the resource was
// deleted, and Previous is nil if it was created. The methods of [Event] decode both fields.
type EventData struct {
	Current  json.RawMessage `json:"current"`
	Previous json.RawMessage `json:"previous"`
}

// UnmarshalJSON decodes event data. It decodes a field that is null in JSON as nil.
func (d *EventData) UnmarshalJSON(text []byte) error {
	type plain EventData
	if err := json.Unmarshal(text, (*plain)(d)); err != nil {
		return err
	}
	for _, member := range []*json.RawMessage{&d.Current, &d.Previous} {
		if bytes.Equal(*member, []byte("null")) {
			*member = nil
		}
	}
	return nil
}

// Pet returns the animal after and before the change. The return value current is nil if the animal was
// deleted, and previous is nil if it was created. Pet fails if the event is about another kind of resource.
func (e Event) Pet() (current, previous *Pet, err error) { return decodeChange[Pet](e, "pet") }

// Category returns the category after and before the change. See [Event.Pet] for when the return values are
// nil and when the call fails.
func (e Event) Category() (current, previous *Category, err error) {
	return decodeChange[Category](e, "category")
}

// Order returns the order after and before the change. See [Event.Pet] for when the return values are nil and
// when the call fails.
func (e Event) Order() (current, previous *Order, err error) { return decodeChange[Order](e, "order") }

// Key returns the API key after and before the change, without its secret. See [Event.Pet] for when the
// return values are nil and when the call fails.
func (e Event) Key() (current, previous *Key, err error) { return decodeChange[Key](e, "key") }

// Webhook returns the webhook after and before the change, without its secret. See [Event.Pet] for when the
// return values are nil and when the call fails.
func (e Event) Webhook() (current, previous *Webhook, err error) {
	return decodeChange[Webhook](e, "webhook")
}

// Profile returns the profile after and before the change, without internal members. It fails if the event is about
// another kind of resource.
func (e Event) Profile() (current, previous *Profile, err error) {
	return decodeChange[Profile](e, "profile")
}

func decodeChange[T any](e Event, kind string) (current, previous *T, err error) {
	if !strings.HasPrefix(string(e.Type), kind+".") {
		return nil, nil, fmt.Errorf("animalstore: event %s is of type %s and holds no %s", e.ID, e.Type, kind)
	}
	for _, member := range []struct {
		text json.RawMessage
		into **T
	}{{e.Data.Current, &current}, {e.Data.Previous, &previous}} {
		if member.text == nil {
			continue
		}
		if err := json.Unmarshal(member.text, member.into); err != nil {
			return nil, nil, fmt.Errorf("animalstore: event %s cannot be decoded: %w", e.ID, err)
		}
	}
	return current, previous, nil
}

// EventFilter selects the events that match all of its fields. A field with its zero value matches every
// event.
type EventFilter struct {
	Types   []EventType // the event must have one of these types
	Subject string      // the path of the changed resource, such as pets/7
	Actor   string      // who made the change: keys/ID, configured or system
	Since   time.Time   // the event happened at this time or later
}

func (f EventFilter) values() url.Values {
	query := url.Values{}
	for _, t := range f.Types {
		query.Add("type", string(t))
	}
	if f.Subject != "" {
		query.Set("subject", f.Subject)
	}
	if f.Actor != "" {
		query.Set("actor", f.Actor)
	}
	setTime(query, "since", f.Since)
	return query
}

func setTime(query url.Values, name string, at time.Time) {
	if !at.IsZero() {
		query.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
}

// EventQuery selects the events to list. Fields with their zero value are ignored.
type EventQuery struct {
	EventFilter
	Until time.Time // the event happened before this time
	After string    // an event id, or the value of next returned by ListEvents; if empty, the list starts with the oldest event
	Limit int       // the number of events per page, 1 to 100
}

func (q EventQuery) values() url.Values {
	query := q.EventFilter.values()
	setTime(query, "until", q.Until)
	setLimit(query, q.Limit)
	if q.After != "" {
		query.Set("after", q.After)
	}
	return query
}

// ListEvents returns one page of the event feed, oldest event first. The default page size is 20. To get the
// next page, set After to the returned value of next, which is empty on the last page. ListEvents fails with
// [CodeEventsExpired] if events after the id in After have been deleted. [Client.Events] iterates over all
// pages, and [Client.Follow] also waits for new events.
func (c *Client) ListEvents(ctx context.Context, q EventQuery) (events []Event, next string, err error) {
	return fetchPage[Event](ctx, c, "/events", byEvent, q.values())
}

// Events iterates over all past events that match a query, oldest first. The first error is yielded and ends
// the iteration.
func (c *Client) Events(ctx context.Context, q EventQuery) iter.Seq2[Event, error] {
	return all[Event](ctx, c, "/events", byEvent, q.values())
}

// LatestEvents returns the newest n events that match a query, or fewer if there are not that many. They are in
// ascending order of their ids. LatestEvents ignores the After and Limit fields of the query.
func (c *Client) LatestEvents(ctx context.Context, q EventQuery, n int) ([]Event, error) {
	n = max(n, 0)
	newest, err := c.LastEventID(ctx)
	if err != nil {
		return nil, err
	}
	last, err := strconv.ParseInt(newest, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("animalstore: %w", err)
	}
	// The API lists events only in ascending order, so the first try begins n events before the newest one. If fewer
	// than n of these events match the query, the next try begins ten times as far back.
	for back := int64(n); ; back *= 10 {
		q.After, q.Limit = "", 0
		if back < last {
			q.After = strconv.FormatInt(last-back, 10)
		}
		found, err := c.lastEvents(ctx, q, n)
		if IsCode(err, CodeEventsExpired) { // the events were deleted, so begin with the oldest event that is left
			q.After = ""
			found, err = c.lastEvents(ctx, q, n)
		}
		if err != nil || len(found) >= n || q.After == "" {
			return found, err
		}
	}
}

// lastEvents reads all events that match a query and returns the last n of them.
func (c *Client) lastEvents(ctx context.Context, q EventQuery, n int) (found []Event, err error) {
	for event, err := range c.Events(ctx, q) {
		if err != nil {
			return nil, err
		}
		if found = append(found, event); len(found)/2 > n {
			found = slices.Delete(found, 0, len(found)-n)
		}
	}
	return found[max(0, len(found)-n):], nil
}
