package shop

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Attempt is the record of one attempt to send a delivery to a webhook's URL.
type Attempt struct {
	At       time.Time     `json:"at"`
	Duration time.Duration `json:"-"`
	Millis   int64         `json:"durationMs"`
	Status   int           `json:"status,omitzero"`  // the HTTP status of the response, or 0 if there was no response
	Response string        `json:"answer,omitempty"` // the first bytes of the response body
	Error    string        `json:"error,omitempty"`  // the reason why there was no response
}

// succeeded reports whether the receiver accepted the message, which it does with any 2xx status.
func (a Attempt) succeeded() bool { return a.Status >= 200 && a.Status <= 299 }

// problem describes why the attempt failed.
func (a Attempt) problem() string {
	if a.Status == 0 {
		return a.Error
	}
	return strings.TrimSpace(fmt.Sprintf("the response was %d %s", a.Status, http.StatusText(a.Status)))
}

// ClaimDuration is how long a claim lasts. After that, another node may claim the delivery. It is twice the
// timeout for an attempt. It is not longer because, if a node crashes, the deliveries that it has claimed
// cannot be sent until their claims end.
const ClaimDuration = 30 * time.Second

// Claim gives one node the exclusive right to attempt a delivery until the time in the field ClaimedUntil.
type Claim struct {
	Delivery
	URL     string
	Secrets []string // the secrets used to sign the message, newest first
}

// ClaimDeliveries claims at most limit deliveries to a webhook that are due. If an attempt has not finished
// when its claim ends, another node may claim the delivery.
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

// Outcome is the result of an attempt as determined by FinishAttempt.
type Outcome string

const (
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeRetry     Outcome = "retry"  // the attempt failed, but there will be another one
	OutcomeFailed    Outcome = "failed" // the attempt failed and was the last one
	OutcomeLost      Outcome = "lost"   // the result was dropped because the claim was no longer valid
)

// FinishAttempt stores the result of an attempt and, if the attempt failed, schedules the next one.
// retryAfter is the wait requested by the receiver's Retry-After header, or 0 if there was no such header.
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
		if !found { // the webhook was deleted during the attempt
			hook.Enabled = false
		}
		moved := claim.URL != hook.URL // the attempt used the old URL, so its result says nothing about the new URL
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

// applyAttempt updates the delivery's status and the time of its next attempt. attempt must be the last one
// in d.Attempts. gone means that the webhook's current URL responded with 410 Gone.
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
	case enabled && !gone: // otherwise the delivery stays parked until the webhook is enabled again
		d.NextAttemptAt = now.Add(max(jitter(retrySchedule[n-1]), min(retryAfter, maxRetryAfter)))
	}
	return OutcomeRetry
}

// updateWebhookHealth records the time since which every attempt to send to the webhook has failed. It
// disables the webhook if its URL is gone. It also disables the webhook if all attempts of a delivery have
// failed and the webhook has accepted no message since the first of these attempts.
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
