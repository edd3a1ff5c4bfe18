package shop

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Attempt is one attempt to send a delivery.
type Attempt struct {
	At       time.Time     `json:"at"`
	Duration time.Duration `json:"-"`
	Millis   int64         `json:"durationMs"`
	Status   int           `json:"status,omitzero"`  // the response's status; 0 if there was no response
	Response string        `json:"answer,omitempty"` // the first bytes of the response
	Error    string        `json:"error,omitempty"`  // why there was no response
}

// succeeded reports whether the receiver accepted the message.
func (a Attempt) succeeded() bool { return a.Status >= 200 && a.Status <= 299 }

// problem describes why the attempt failed.
func (a Attempt) problem() string {
	if a.Status == 0 {
		return a.Error
	}
	return strings.TrimSpace(fmt.Sprintf("the response was %d %s", a.Status, http.StatusText(a.Status)))
}

// ClaimDuration is how long a node has for an attempt before another node may claim the delivery. It is twice
// the timeout of an attempt, and no longer, because deliveries that a crashed node had claimed wait for it.
const ClaimDuration = 30 * time.Second

// Claim gives one node the exclusive right to attempt a delivery until ClaimedUntil.
type Claim struct {
	Delivery
	URL     string
	Secrets []string // sign the message, newest first
}

// ClaimDeliveries claims at most limit due deliveries to a webhook. A delivery that is not finished when its
// claim ends may be claimed by another node.
func (s *Service) ClaimDeliveries(ctx context.Context, webhookID int64, limit int) ([]Claim, error) {
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
		due, err := tx.DueDeliveries(webhookID, now, limit)
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

// Outcome is the result of an attempt.
type Outcome string

const (
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeRetry     Outcome = "retry"  // failed; there will be another attempt
	OutcomeFailed    Outcome = "failed" // failed; it was the last attempt
	OutcomeLost      Outcome = "lost"   // the claim had ended and another node has claimed the delivery
)

// FinishAttempt stores the result of an attempt and schedules the next one. retryAfter is the receiver's
// Retry-After, or 0.
func (s *Service) FinishAttempt(ctx context.Context, claim Claim, attempt Attempt, retryAfter time.Duration) (outcome Outcome, err error) {
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
		if !found { // deleted during the attempt
			hook.Enabled = false
		}
		moved := claim.URL != hook.URL // the result says nothing about the new URL
		delivery.Attempts = append(delivery.Attempts, attempt)
		delivery.ClaimedUntil = time.Time{}
		outcome = delivery.applyAttempt(attempt, hook.Enabled, !moved && attempt.Status == http.StatusGone, now, retryAfter)
		if err := tx.UpdateDelivery(delivery); err != nil || !found || moved || delivery.EventType == testEvent {
			return err
		}
		return s.updateWebhookHealth(tx, hook, delivery, attempt)
	})
	return outcome, err
}

// applyAttempt updates the status and the next attempt after the last attempt in d.Attempts.
func (d *Delivery) applyAttempt(attempt Attempt, enabled, gone bool, now time.Time, retryAfter time.Duration) Outcome {
	n := len(d.Attempts)
	d.NextAttemptAt = time.Time{}
	switch {
	case attempt.succeeded():
		d.Status = DeliverySucceeded
		return OutcomeSucceeded
	case d.EventType == testEvent || n > len(retrySchedule) && !gone:
		d.Status = DeliveryFailed
		return OutcomeFailed
	case enabled && !gone: // otherwise the delivery is parked until the webhook is enabled
		d.NextAttemptAt = now.Add(max(jitter(retrySchedule[n-1]), min(retryAfter, maxRetryAfter)))
	}
	return OutcomeRetry
}

// updateWebhookHealth stores since when a webhook fails. It disables a webhook whose URL is gone, or that
// accepted nothing from the first to the last attempt of a delivery.
func (s *Service) updateWebhookHealth(tx *eventTx, hook Webhook, delivery Delivery, attempt Attempt) error {
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
		disabled.DisabledReason = "The URL responded with 410 Gone."
	case delivery.Status == DeliveryFailed && !hook.FailingSince.After(delivery.Attempts[0].At):
		disabled.DisabledReason = fmt.Sprintf("Every attempt since %s has failed; in the last one, %s.", hook.FailingSince.Format(time.RFC3339), attempt.problem())
	default:
		return nil
	}
	disabled.Enabled = false
	_, err := s.changeWebhook(tx, hook, disabled)
	return err
}
