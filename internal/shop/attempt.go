package shop

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

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

// ClaimDuration is how long a node has for an attempt before another one may take the delivery for abandoned: twice as long
// as an attempt may take, and no longer, because what a crash leaves behind waits for it.
const ClaimDuration = 30 * time.Second

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
