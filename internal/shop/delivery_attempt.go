package shop

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
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

// Outcome is the result of an attempt as determined by FinishAttempts.
type Outcome string

const (
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeRetry     Outcome = "retry"  // the attempt failed, but there will be another one
	OutcomeFailed    Outcome = "failed" // the attempt failed and was the last one
	OutcomeLost      Outcome = "lost"   // the result was dropped because the claim was no longer valid
)

// AttemptResult is the result of an attempt to send a claimed delivery.
type AttemptResult struct {
	Claim      Claim
	Attempt    Attempt
	RetryAfter time.Duration // the wait requested by the receiver's Retry-After header, or 0
}

// FinishAttempts stores the results of attempts and schedules the next attempt of each delivery that has to be
// retried. It returns the outcomes in the order of the results.
func (s *Service) FinishAttempts(ctx context.Context, results ...AttemptResult) ([]Outcome, error) {
	var outcomes []Outcome
	err := s.writeOnly(ctx, Writing{}, func(tx *eventTx) error {
		outcomes = make([]Outcome, len(results))
		if err := tx.EndWhenIdle(); err != nil {
			return err
		}
		f, err := newFinish(tx, results)
		if err != nil {
			return err
		}
		for i, result := range results {
			outcomes[i] = f.apply(result)
		}
		return f.save(s)
	})
	return outcomes, err
}

// finish applies the results of several attempts in one transaction.
type finish struct {
	tx         *eventTx
	now        time.Time
	deliveries map[int64]Delivery
	before     map[int64]Webhook // the webhooks as they were read
	hooks      map[int64]Webhook // the webhooks with the results applied
	changed    []int64           // the ids of the deliveries with a new attempt
}

func newFinish(tx *eventTx, results []AttemptResult) (*finish, error) {
	var ids, webhookIDs []int64
	for _, result := range results {
		ids, webhookIDs = append(ids, result.Claim.ID), append(webhookIDs, result.Claim.WebhookID)
	}
	stored, err := tx.DeliveriesByID(ids)
	if err != nil {
		return nil, err
	}
	hooks, err := tx.WebhooksByID(webhookIDs)
	if err != nil {
		return nil, err
	}
	f := &finish{tx: tx, deliveries: map[int64]Delivery{}, before: webhooksByID(hooks), hooks: webhooksByID(hooks)}
	for _, delivery := range stored {
		f.deliveries[delivery.ID] = delivery
	}
	f.now, err = tx.Now()
	return f, err
}

// apply adds an attempt to its delivery and updates the health of the webhook.
func (f *finish) apply(result AttemptResult) Outcome {
	delivery, found := f.deliveries[result.Claim.ID]
	if !found || !delivery.ClaimedUntil.Equal(result.Claim.ClaimedUntil) {
		return OutcomeLost
	}
	attempt := result.Attempt
	attempt.Millis = attempt.Duration.Milliseconds()
	hook, found := f.hooks[result.Claim.WebhookID]
	if !found { // the webhook was deleted during the attempt
		hook.Enabled = false
	}
	moved := result.Claim.URL != hook.URL // the attempt used the old URL, so its result says nothing about the new URL
	delivery.Attempts = append(delivery.Attempts, attempt)
	delivery.ClaimedUntil = time.Time{}
	outcome := delivery.applyAttempt(attempt, hook.Enabled, !moved && attempt.Status == http.StatusGone, f.now, result.RetryAfter)
	f.deliveries[delivery.ID] = delivery
	f.changed = append(f.changed, delivery.ID)
	if found && !moved && delivery.EventType != testEvent {
		hook.applyAttempt(attempt, delivery)
		f.hooks[hook.ID] = hook
	}
	return outcome
}

// save stores the changed deliveries and webhooks. It stores the deliveries first, because disabling a webhook parks
// its deliveries. It changes the rows in the order of their ids, so that two nodes cannot deadlock.
func (f *finish) save(s *Service) error {
	slices.Sort(f.changed)
	deliveries := make([]Delivery, len(f.changed))
	for i, id := range f.changed {
		deliveries[i] = f.deliveries[id]
	}
	if err := f.tx.UpdateDeliveries(deliveries...); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(f.hooks)) {
		before, hook := f.before[id], f.hooks[id]
		var err error
		switch {
		case before.Enabled && !hook.Enabled:
			before.FailingSince = hook.FailingSince
			_, _, err = s.changeWebhook(f.tx, before, hook)
		case !before.FailingSince.Equal(hook.FailingSince):
			err = f.tx.SetWebhookFailing(id, hook.FailingSince)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// applyAttempt updates the delivery's status and the time of its next attempt. attempt must be the last one in
// d.Attempts. enabled says whether the webhook is enabled, and gone whether its current URL responded with 410 Gone.
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
	case enabled && !gone: // a delivery to a disabled webhook stays parked until the webhook is enabled again
		d.NextAttemptAt = now.Add(max(jitter(retrySchedule[n-1]), min(retryAfter, maxRetryAfter)))
	}
	return OutcomeRetry
}
