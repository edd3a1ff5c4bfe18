package shop

import (
	"context"
	"time"
)

// DeliveryStatus says whether a delivery is still pending, has succeeded or has failed.
type DeliveryStatus string

const (
	DeliveryPending   DeliveryStatus = "pending"   // waiting for the next attempt or for the webhook to be enabled
	DeliverySucceeded DeliveryStatus = "succeeded" // the receiver accepted the message
	DeliveryFailed    DeliveryStatus = "failed"    // all attempts have failed, and there will be no more
)

// Delivery is one message to one webhook, together with the attempts made to send it.
type Delivery struct {
	ID            int64          `json:"id"`
	WebhookID     int64          `json:"webhookId"`
	MessageID     string         `json:"messageId"` // the webhook-id header, which is the same for every attempt and redelivery
	EventID       string         `json:"eventId,omitempty"`
	EventType     EventType      `json:"eventType"`
	Status        DeliveryStatus `json:"status"`
	Attempts      []Attempt      `json:"attempts"`
	CreatedAt     time.Time      `json:"createdAt"`
	NextAttemptAt time.Time      `json:"nextAttemptAt,omitzero"`
	Body          []byte         `json:"-"` // the message; only DueDeliveries reads it from the store
	ClaimedUntil  time.Time      `json:"-"` // until this time, only the node that claimed the delivery may send it
}

// Message is the message about an event that is sent to webhooks.
type Message struct {
	ID        string // the webhook-id header
	EventID   string
	EventType EventType
	Body      []byte
}

func newMessage(event Event) Message {
	return Message{"evt_" + event.ID, event.ID, event.Type, addTraceparent(encode(event), event.traceparent)}
}

// deliveryRetention is how long a delivery is kept after its creation.
const deliveryRetention = 30 * 24 * time.Hour

// DeliveryList selects one page of the deliveries to a webhook, newest first.
type DeliveryList struct {
	WebhookID int64
	Status    DeliveryStatus // an empty Status selects deliveries with any status
	PageRequest
}

// DeliveryStatusProblem explains why a status sent by a client is invalid. It returns "" if the status is
// valid.
func DeliveryStatusProblem(s string) string {
	switch DeliveryStatus(s) {
	case DeliveryPending, DeliverySucceeded, DeliveryFailed:
		return ""
	}
	return "must be one of pending, succeeded, failed"
}

// ListDeliveries returns one page of the deliveries to a webhook, newest first. It fails with not_found if
// the webhook does not exist.
func (s *Service) ListDeliveries(ctx context.Context, list DeliveryList) (Page[Delivery], error) {
	return read(ctx, s, Reading{}, func(tx ReadTx) (Page[Delivery], error) {
		if _, err := existingWebhook(tx, list.WebhookID); err != nil {
			return Page[Delivery]{}, err
		}
		deliveries, err := tx.Deliveries(DeliveryList{list.WebhookID, list.Status, list.oneMore()})
		return pageOf(list.Limit, deliveries, err)
	})
}

// Redeliver enqueues the message of an earlier delivery again, whatever the status of that delivery. It fails
// with not_found if the webhook or the earlier delivery does not exist.
func (s *Service) Redeliver(ctx context.Context, by Caller, webhookID, id int64) (Delivery, error) {
	return write(ctx, s, Writing{By: by}, func(tx *eventTx) (Delivery, error) {
		if _, err := existingWebhook(tx, webhookID); err != nil {
			return Delivery{}, err
		}
		now, err := tx.Now()
		if err != nil {
			return Delivery{}, err
		}
		again, found, err := tx.RepeatDelivery(webhookID, id, now)
		if err == nil && !found {
			err = Errorf(NotFound, "This webhook has no delivery with the id %d; list its deliveries to find an existing one.", id)
		}
		return again, err
	})
}

// RemoveDeliveries removes the deliveries that are older than deliveryRetention.
func (s *Service) RemoveDeliveries(ctx context.Context) error {
	return s.inBatches(ctx, func(tx BookkeepingTx) (bool, error) {
		now, err := tx.Now()
		if err != nil {
			return false, err
		}
		return tx.RemoveDeliveries(now.Add(-deliveryRetention), now)
	})
}

// DeliveryReader contains the methods of ReadTx that read deliveries.
type DeliveryReader interface {
	// Deliveries returns at most list.Limit deliveries to a webhook, sorted by descending id.
	Deliveries(list DeliveryList) ([]Delivery, error)
	// DeliveriesByID returns the deliveries with the given ids that exist, in no particular order.
	DeliveriesByID(ids []int64) ([]Delivery, error)
	// DueWebhooks returns the webhooks with scheduled deliveries. Those whose deliveries have been due for the
	// longest time come first. If from is nil, DueWebhooks considers all scheduled deliveries, and webhooks without
	// any do not slow it down. Otherwise it may skip deliveries that are scheduled for earlier times than those in
	// from. So it does not have to read the index entries that a PostgreSQL server still keeps for finished
	// deliveries.
	DueWebhooks(now time.Time, from *DueFrom) ([]DueWebhook, error)
}

// DueWebhook is a webhook with scheduled deliveries.
type DueWebhook struct {
	ID      int64
	Failing bool      // every recent attempt to send to the webhook has failed
	First   time.Time // when the earliest delivery is scheduled; it may be claimed, and the time may be in the future
	Since   time.Time // when the earliest unclaimed delivery became due; zero if no unclaimed delivery is due
}

// DueFrom makes DueWebhooks look only for deliveries that are scheduled for a given time or later.
type DueFrom struct {
	Time     time.Time           // the time for all webhooks that are not in Webhooks
	Webhooks map[int64]time.Time // earlier times for some webhooks, by webhook id
}

// DeliveryBookkeeping contains the methods of Bookkeeping that change deliveries.
type DeliveryBookkeeping interface {
	// TakeFanOutTurn reports whether this transaction may create deliveries for events. Only one transaction at a
	// time may do so; its turn lasts until it ends.
	TakeFanOutTurn() (bool, error)
	// InsertDeliveries stores one message and, for each of the given webhooks that exists, a delivery of that
	// message. The deliveries are due at the given time.
	InsertDeliveries(message Message, webhookIDs []int64, at time.Time) error
	// InsertDelivery stores a delivery and its message under a new id and returns the stored delivery. It ignores the
	// ID field of its argument. The new id is larger than every id assigned before.
	InsertDelivery(Delivery) (Delivery, error)
	// RepeatDelivery stores a new delivery with the same message as the delivery with the given id. The new delivery
	// is due at the given time. RepeatDelivery returns the new delivery, or false if the webhook has no delivery with
	// the given id.
	RepeatDelivery(webhookID, id int64, at time.Time) (Delivery, bool, error)
	// DueDeliveries returns, for each of the webhooks, at most limit deliveries that became due at the webhook's Since
	// or later and that no node has claimed. The delivery that has been due for the longest time comes first. It
	// locks the deliveries and leaves out those that another transaction has locked.
	DueDeliveries(webhooks []DueWebhook, now time.Time, limit int) ([]Delivery, error)
	// ClaimDeliveries marks deliveries as claimed until the given time.
	ClaimDeliveries(ids []int64, until time.Time) error
	// UpdateDeliveries stores the status, the attempts, the claim and the time of the next attempt of each delivery.
	UpdateDeliveries(...Delivery) error
	// ParkDeliveries postpones all scheduled deliveries to a webhook until ResumeDeliveries is called.
	ParkDeliveries(webhookID int64) error
	// ResumeDeliveries schedules all parked deliveries to a webhook for the given time.
	ResumeDeliveries(webhookID int64, at time.Time) error
	// RemoveDeliveries removes a limited number of the oldest deliveries created before the given time, and the
	// messages that no other delivery uses. It reports whether there may be more to remove. A delivery whose creation
	// time is after now was stored while the clock was wrong. It is treated as if it were as old as the next delivery.
	RemoveDeliveries(before, now time.Time) (more bool, err error)
}
