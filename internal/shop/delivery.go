package shop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// DeliveryStatus is how far a delivery has come.
type DeliveryStatus string

const (
	DeliveryPending   DeliveryStatus = "pending"   // it will be tried, or waits until its webhook is enabled
	DeliverySucceeded DeliveryStatus = "succeeded" // the webhook took it
	DeliveryFailed    DeliveryStatus = "failed"    // it will not be tried again
)

// Delivery is one message to one webhook, with what became of it.
type Delivery struct {
	ID            int64          `json:"id"`
	WebhookID     int64          `json:"webhookId"`
	MessageID     string         `json:"messageId"` // what the receiver gets as webhook-id: the same for every attempt and redelivery
	EventID       string         `json:"eventId,omitempty"`
	EventType     EventType      `json:"eventType"`
	Status        DeliveryStatus `json:"status"`
	Attempts      []Attempt      `json:"attempts"`
	CreatedAt     time.Time      `json:"createdAt"`
	NextAttemptAt time.Time      `json:"nextAttemptAt,omitzero"`
	Body          []byte         `json:"-"`
	ClaimedUntil  time.Time      `json:"-"` // until then one node alone may try it
}

// Attempt is one try of a delivery.
type Attempt struct {
	At       time.Time     `json:"at"`
	Duration time.Duration `json:"-"`
	Millis   int64         `json:"durationMs"`
	Status   int           `json:"status,omitzero"`  // of the answer; 0: there was none
	Response string        `json:"answer,omitempty"` // its first bytes
	Error    string        `json:"error,omitempty"`  // why there was no answer
}

// succeeded tells whether the receiver took the message.
func (a Attempt) succeeded() bool { return a.Status >= 200 && a.Status <= 299 }

// problem says in a few words what became of an attempt that failed.
func (a Attempt) problem() string {
	if a.Status == 0 {
		return a.Error
	}
	return strings.TrimSpace(fmt.Sprintf("the answer was %d %s", a.Status, http.StatusText(a.Status)))
}

// testEvent is the type of a message that only tries a webhook out. It is in no feed.
const testEvent EventType = "webhook.test"

// retrySchedule is how long a delivery waits after each attempt that failed; after the last of them it has failed for good.
var retrySchedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour,
	20 * time.Hour, 24 * time.Hour,
}

const (
	// ClaimDuration is how long a node has for an attempt before another one may take the delivery for abandoned: twice as long
	// as an attempt may take, and no longer, because what a crash leaves behind waits for it.
	ClaimDuration = 30 * time.Second
	// deliveryRetention is how long the log of deliveries reaches back.
	deliveryRetention = 30 * 24 * time.Hour
	// maxRetryAfter is how long a receiver can put us off.
	maxRetryAfter = 24 * time.Hour
)

// DeliveryList asks for one page of the deliveries to a webhook, newest first.
type DeliveryList struct {
	WebhookID int64
	Status    DeliveryStatus // none: any
	PageRequest
}

// DeliveryStatusProblem says what is wrong with a delivery's status that a client sent, or "".
func DeliveryStatusProblem(s string) string {
	switch DeliveryStatus(s) {
	case DeliveryPending, DeliverySucceeded, DeliveryFailed:
		return ""
	}
	return "must be one of pending, succeeded, failed"
}

// ListDeliveries returns one page of the deliveries to a webhook, or not_found.
func (s *Service) ListDeliveries(ctx context.Context, list DeliveryList) (Page[Delivery], error) {
	return read(ctx, s, func(tx ReadTx) (Page[Delivery], error) {
		if _, err := existingWebhook(tx, list.WebhookID); err != nil {
			return Page[Delivery]{}, err
		}
		return pageOf(list.PageRequest, func(w PageRequest) ([]Delivery, error) {
			return tx.Deliveries(DeliveryList{list.WebhookID, list.Status, w})
		})
	})
}

// TestWebhook sends a message that only tries a webhook out, once, also where it is disabled. It returns not_found.
func (s *Service) TestWebhook(ctx context.Context, id int64) (Delivery, error) {
	return write(ctx, s, func(tx *eventTx) (Delivery, error) {
		hook, err := existingWebhook(tx, id)
		if err != nil {
			return Delivery{}, err
		}
		now, err := tx.Now()
		if err != nil {
			return Delivery{}, err
		}
		message := Event{
			SpecVersion: "1.0", ID: "test_" + strconv.FormatInt(now.UnixMicro(), 10), Source: s.source, Type: testEvent,
			Subject: hook.subject(), Time: now, DataContentType: "application/json", Actor: tx.actor,
			Data: eventData(hook, nil),
		}
		return tx.InsertDelivery(Delivery{
			WebhookID: id, MessageID: message.ID, EventType: testEvent, Status: DeliveryPending, CreatedAt: now,
			NextAttemptAt: now, Body: encode(message),
		})
	})
}

// Redeliver sends a message again, at once, whatever became of it before. It returns not_found.
func (s *Service) Redeliver(ctx context.Context, webhookID, id int64) (Delivery, error) {
	return write(ctx, s, func(tx *eventTx) (Delivery, error) {
		if _, err := existingWebhook(tx, webhookID); err != nil {
			return Delivery{}, err
		}
		old, found, err := tx.Delivery(webhookID, id)
		if err != nil {
			return Delivery{}, err
		}
		if !found {
			return Delivery{}, Errorf(NotFound, "There is no delivery with the id %d to this webhook; list the deliveries to see which there are.", id)
		}
		now, err := tx.Now()
		if err != nil {
			return Delivery{}, err
		}
		return tx.InsertDelivery(Delivery{
			WebhookID: webhookID, MessageID: old.MessageID, EventID: old.EventID, EventType: old.EventType,
			Status: DeliveryPending, CreatedAt: now, NextAttemptAt: now, Body: old.Body,
		})
	})
}

// Claim is one attempt that the node that has it makes, and no other.
type Claim struct {
	Delivery
	URL     string
	Secrets []string // to sign with, the newest first
}

// ClaimDeliveries takes some of the deliveries to a webhook that are due. What is not finished by the end of its claim may
// be taken by another node.
func (s *Service) ClaimDeliveries(ctx context.Context, webhookID int64, most int) ([]Claim, error) {
	due, err := read(ctx, s, func(tx ReadTx) (bool, error) {
		now, err := tx.Now()
		if err != nil {
			return false, err
		}
		due, err := tx.DueDeliveries(webhookID, now, 1)
		return len(due) > 0, err
	})
	if err != nil || !due {
		return nil, err
	}
	var claims []Claim
	err = s.bookkeep(ctx, func(tx BookkeepingTx) error {
		claims = nil
		hook, found, err := tx.Webhook(webhookID)
		if err != nil || !found {
			return err
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		secrets, err := tx.WebhookSecrets(webhookID, now)
		if err != nil {
			return err
		}
		due, err := tx.DueDeliveries(webhookID, now, most)
		if err != nil {
			return err
		}
		for _, delivery := range due {
			delivery.ClaimedUntil = now.Add(ClaimDuration)
			if err := tx.UpdateDelivery(delivery); err != nil {
				return err
			}
			claims = append(claims, Claim{delivery, hook.URL, secrets})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return claims, nil
}

// Outcome is what became of an attempt.
type Outcome string

const (
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeRetry     Outcome = "retry"  // it failed, and will be tried again
	OutcomeFailed    Outcome = "failed" // it failed for good
	OutcomeLost      Outcome = "lost"   // it took too long: another node has the delivery
)

// FinishAttempt notes what became of an attempt. after is how long the receiver wants to be left alone; 0: it did not say.
func (s *Service) FinishAttempt(ctx context.Context, claim Claim, attempt Attempt, after time.Duration) (outcome Outcome, err error) {
	attempt.Millis = attempt.Duration.Milliseconds()
	err = s.change(ctx, func(tx *eventTx) error {
		outcome = OutcomeLost
		delivery, found, err := tx.Delivery(claim.WebhookID, claim.ID)
		if err != nil || !found || !delivery.ClaimedUntil.Equal(claim.ClaimedUntil) {
			return err
		}
		hook, found, err := tx.Webhook(claim.WebhookID)
		if err != nil {
			return err
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		if !found { // removed meanwhile
			hook.Enabled = false
		}
		elsewhere := claim.URL != hook.URL // it has moved, and what its old address says is nothing against it
		delivery.Attempts = append(delivery.Attempts, attempt)
		delivery.ClaimedUntil = time.Time{}
		outcome = delivery.applyAttempt(attempt, hook.Enabled, !elsewhere && attempt.Status == http.StatusGone, now, after)
		if err := tx.UpdateDelivery(delivery); err != nil || !found || elsewhere || delivery.EventType == testEvent {
			return err
		}
		return s.updateWebhookHealth(tx, hook, delivery, attempt, now)
	})
	return outcome, err
}

// applyAttempt decides how a delivery goes on after an attempt.
func (d *Delivery) applyAttempt(attempt Attempt, enabled, gone bool, now time.Time, after time.Duration) Outcome {
	tried := len(d.Attempts)
	d.NextAttemptAt = time.Time{}
	switch {
	case attempt.succeeded():
		d.Status = DeliverySucceeded
		return OutcomeSucceeded
	case d.EventType == testEvent || tried > len(retrySchedule) && !gone:
		d.Status = DeliveryFailed
		return OutcomeFailed
	case enabled && !gone: // what is gone gets disabled: its messages wait until it is back
		d.NextAttemptAt = now.Add(max(jitter(retrySchedule[tried-1]), min(after, maxRetryAfter)))
	}
	return OutcomeRetry
}

// jitter keeps deliveries that failed together from coming back together: it moves a wait by up to a tenth.
func jitter(wait time.Duration) time.Duration {
	return wait + time.Duration((rand.Float64()*0.2-0.1)*float64(wait))
}

// maxJittered is the most that jitter makes of a wait.
func maxJittered(wait time.Duration) time.Duration { return wait + wait/10 }

// updateWebhookHealth notes whether a webhook takes what it is sent, and disables one that is gone, or that took nothing for as long as
// a delivery is tried.
func (s *Service) updateWebhookHealth(tx *eventTx, hook Webhook, delivery Delivery, attempt Attempt, now time.Time) error {
	if attempt.succeeded() {
		if hook.FailingSince.IsZero() {
			return nil
		}
		return tx.SetWebhookFailing(hook.ID, time.Time{})
	}
	if hook.FailingSince.IsZero() {
		hook.FailingSince = attempt.At
		if err := tx.SetWebhookFailing(hook.ID, attempt.At); err != nil {
			return err
		}
	}
	disabled := hook
	switch {
	case !hook.Enabled:
		return nil
	case attempt.Status == http.StatusGone:
		disabled.DisabledReason = "The address answered 410 Gone."
	case delivery.Status == DeliveryFailed && !hook.FailingSince.After(delivery.Attempts[0].At):
		disabled.DisabledReason = fmt.Sprintf("It has taken nothing since %s; at last, %s.", hook.FailingSince.Format(time.RFC3339), attempt.problem())
	default:
		return nil
	}
	disabled.Enabled = false
	_, err := s.changeWebhook(tx, hook, disabled)
	return err
}

// RemoveDeliveries removes the deliveries that are older than the log reaches back.
func (s *Service) RemoveDeliveries(ctx context.Context) error {
	return s.inBatches(ctx, func(tx BookkeepingTx) (bool, error) {
		now, err := tx.Now()
		if err != nil {
			return false, err
		}
		return tx.RemoveDeliveries(s.clockGuard.cutoff(now, deliveryRetention), now)
	})
}

// DeliveryReader reads deliveries.
type DeliveryReader interface {
	// Delivery returns one delivery to a webhook and whether it exists.
	Delivery(webhookID, id int64) (Delivery, bool, error)
	// Deliveries returns at most list.Limit deliveries to a webhook by descending id.
	Deliveries(list DeliveryList) ([]Delivery, error)
	// DueDeliveries returns at most limit deliveries to a webhook whose next attempt is due and that no node has
	// claimed, longest due first.
	DueDeliveries(webhookID int64, now time.Time, limit int) ([]Delivery, error)
}

// DeliveryBookkeeping changes deliveries.
type DeliveryBookkeeping interface {
	// InsertDelivery adds a delivery and ignores its ID. The new id is larger than every id before it.
	InsertDelivery(Delivery) (Delivery, error)
	// UpdateDelivery changes the status, the attempts, the claim and the next attempt of a delivery.
	UpdateDelivery(Delivery) error
	// ParkDeliveries postpones all pending deliveries to a webhook until ResumeDeliveries schedules them.
	ParkDeliveries(webhookID int64) error
	// ResumeDeliveries schedules all pending deliveries to a webhook for the given time.
	ResumeDeliveries(webhookID int64, at time.Time) error
	// RemoveDeliveries removes some of the oldest deliveries created before a time and reports whether there may be
	// more. A delivery with a time after now counts as old as the delivery that follows it.
	RemoveDeliveries(before, now time.Time) (more bool, err error)
}
