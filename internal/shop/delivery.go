package shop

import (
	"context"
	"strconv"
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
	// Body is the message. It is empty if a message from the feed was accepted at once, because the event has it. Lists
	// leave it out.
	Body []byte `json:"-"`
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
// with not_found if the webhook or the earlier delivery does not exist, or if the message was accepted at once and its
// event was removed since.
func (s *Service) Redeliver(ctx context.Context, by Caller, webhookID, id int64) (Delivery, error) {
	return write(ctx, s, Writing{By: by}, func(tx *eventTx) (Delivery, error) {
		if _, err := existingWebhook(tx, webhookID); err != nil {
			return Delivery{}, err
		}
		now, err := tx.Now()
		if err != nil {
			return Delivery{}, err
		}
		delivery, found, err := tx.Delivery(webhookID, id)
		if err == nil && !found {
			err = Errorf(NotFound, "This webhook has no delivery with the id %d; list its deliveries to find an existing one.", id)
		}
		if err == nil && len(delivery.Body) == 0 {
			delivery.Body, err = s.eventMessage(tx, delivery.EventID)
		}
		if err != nil {
			return Delivery{}, err
		}
		delivery.Status, delivery.Attempts, delivery.CreatedAt, delivery.NextAttemptAt = DeliveryPending, nil, now, now
		return tx.InsertDelivery(delivery)
	})
}

// eventMessage returns the message about an event, as it is stored with a delivery. It fails with not_found if the event
// was removed.
func (s *Service) eventMessage(tx ReadTx, id string) ([]byte, error) {
	position, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, err
	}
	page, err := s.events(tx, EventFilter{}, PageRequest{Limit: 1, After: new(position - 1)})
	if err != nil {
		return nil, err
	}
	if len(page.Items) == 0 || page.Items[0].position != position {
		return nil, Errorf(NotFound, "The message of this delivery no longer exists, because its event was removed.")
	}
	return addTraceparent(encode(page.Items[0]), page.Items[0].traceparent), nil
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
	// Deliveries returns at most list.Limit deliveries to a webhook without their bodies, sorted by descending id.
	Deliveries(list DeliveryList) ([]Delivery, error)
	// Delivery returns the delivery to a webhook with the given id and whether it exists.
	Delivery(webhookID, id int64) (Delivery, bool, error)
	// DueDeliveries returns at most limit deliveries to a webhook whose next attempt is due. The delivery that has been
	// due for the longest time comes first.
	DueDeliveries(webhookID int64, now time.Time, limit int) ([]Delivery, error)
	// OldestFailedDelivery returns the pending delivery to a webhook with the smallest id that has been attempted, and
	// whether there is one.
	OldestFailedDelivery(webhookID int64) (Delivery, bool, error)
}

// DeliveryBookkeeping contains the methods of Bookkeeping that change deliveries.
type DeliveryBookkeeping interface {
	// InsertDelivery stores a delivery under a new id and returns the stored delivery. It ignores the ID field of its
	// argument. The new id is larger than every id assigned before.
	InsertDelivery(Delivery) (Delivery, error)
	// InsertDeliveries is InsertDelivery for several deliveries. Their ids have the order of the arguments.
	InsertDeliveries(...Delivery) error
	// UpdateDeliveries stores the status, the attempts and the time of the next attempt of each delivery.
	UpdateDeliveries(...Delivery) error
	// ParkDeliveries postpones all scheduled deliveries to a webhook until ResumeDeliveries is called.
	ParkDeliveries(webhookID int64) error
	// ResumeDeliveries schedules all parked deliveries to a webhook for the given time.
	ResumeDeliveries(webhookID int64, at time.Time) error
	// RemoveDeliveries removes a limited number of the oldest deliveries created before the given time. It reports
	// whether there may be more to remove. A delivery whose creation time is after now was stored while the clock was
	// wrong. It is treated as if it were as old as the next delivery.
	RemoveDeliveries(before, now time.Time) (more bool, err error)
}
