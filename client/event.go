package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"time"
)

// EventType says what happened. New types may come.
type EventType string

const (
	EventPetCreated      EventType = "pet.created"
	EventPetUpdated      EventType = "pet.updated" // also by a step of an order
	EventPetDeleted      EventType = "pet.deleted"
	EventCategoryCreated EventType = "category.created"
	EventCategoryUpdated EventType = "category.updated"
	EventCategoryDeleted EventType = "category.deleted"
	EventOrderPlaced     EventType = "order.placed"
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
	// EventWebhookTest is what [Client.TestWebhook] sends. It is in no feed.
	EventWebhookTest EventType = "webhook.test"
)

// Event is what the service tells of one change, as CloudEvents 1.0 has it.
type Event struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"` // digits; later events have larger numbers
	Source          string    `json:"source"`
	Type            EventType `json:"type"`
	Subject         string    `json:"subject"` // the path of what changed, such as pets/7
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Actor           string    `json:"actor"` // who did it: keys/ID, configured, or system
	Data            EventData `json:"data"`
}

// EventData is the JSON of what changed, after and before; nil where there is none. The methods of [Event] decode it.
type EventData struct {
	Current  json.RawMessage `json:"current"`
	Previous json.RawMessage `json:"previous"`
}

// UnmarshalJSON reads null as nil.
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

// Pet decodes an animal after and before the change; nil where there is none. It fails for an event of another kind, as
// do the methods below for theirs.
func (e Event) Pet() (current, previous *Pet, err error) { return decodeChange[Pet](e, "pet") }

// Category decodes a category after and before the change.
func (e Event) Category() (current, previous *Category, err error) {
	return decodeChange[Category](e, "category")
}

// Order decodes an order after and before the change.
func (e Event) Order() (current, previous *Order, err error) { return decodeChange[Order](e, "order") }

// Key decodes a key after and before the change, without its secret.
func (e Event) Key() (current, previous *Key, err error) { return decodeChange[Key](e, "key") }

// Webhook decodes a webhook after and before the change, without its secret.
func (e Event) Webhook() (current, previous *Webhook, err error) {
	return decodeChange[Webhook](e, "webhook")
}

func decodeChange[T any](e Event, kind string) (current, previous *T, err error) {
	if !strings.HasPrefix(string(e.Type), kind+".") {
		return nil, nil, fmt.Errorf("animalstore: the event %s is %s, and tells nothing of a %s", e.ID, e.Type, kind)
	}
	for _, member := range []struct {
		text json.RawMessage
		into **T
	}{{e.Data.Current, &current}, {e.Data.Previous, &previous}} {
		if member.text == nil {
			continue
		}
		if err := json.Unmarshal(member.text, member.into); err != nil {
			return nil, nil, fmt.Errorf("animalstore: the event %s cannot be read: %w", e.ID, err)
		}
	}
	return current, previous, nil
}

// EventFilter narrows the feed; what is zero does not. Its parts combine with "and".
type EventFilter struct {
	Types   []EventType // one of these
	Subject string      // such as pets/7
}

func (f EventFilter) values() url.Values {
	query := url.Values{}
	for _, t := range f.Types {
		query.Add("type", string(t))
	}
	if f.Subject != "" {
		query.Set("subject", f.Subject)
	}
	return query
}

// EventQuery says which events are listed; what is zero does not narrow the list.
type EventQuery struct {
	EventFilter
	After string // the id of an event, or what ListEvents returned with the page before; empty: from the oldest on
	Limit int    // the most events on one page, 1 to 100
}

func (q EventQuery) values() url.Values {
	query := q.EventFilter.values()
	setLimit(query, q.Limit)
	if q.After != "" {
		query.Set("after", q.After)
	}
	return query
}

// ListEvents gets one page of the feed, oldest first, of 20 where the query has no limit. The position next goes into
// After of the query for the following page; it is empty after the last one. It fails with [CodeEventsExpired] where
// events after After are no longer kept. [Client.Events] walks the pages by itself, and [Client.Follow] goes on from there.
func (c *Client) ListEvents(ctx context.Context, q EventQuery) (events []Event, next string, err error) {
	return fetchPage[Event](ctx, c, "/events", byEvent, q.values())
}

// Events walks all the events that a query asks for and that have happened, oldest first. It ends with the first error.
func (c *Client) Events(ctx context.Context, q EventQuery) iter.Seq2[Event, error] {
	return all[Event](ctx, c, "/events", byEvent, q.values())
}
