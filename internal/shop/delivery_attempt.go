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

// Outcome is the result of an attempt as determined by WebhookQueue.Finish.
type Outcome string

const (
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeRetry     Outcome = "retry"  // the attempt failed, but there will be another one
	OutcomeFailed    Outcome = "failed" // the attempt failed and was the last one
	OutcomeLost      Outcome = "lost"   // the result was dropped because another node holds the webhook
)

// AttemptResult is the result of an attempt to send a message.
type AttemptResult struct {
	Attempt    Attempt
	RetryAfter time.Duration // the wait requested by the receiver's Retry-After header, or 0
}

// FinishedBatch is a batch and the results of the attempts to send its messages, in the same order. If there are no
// results, no message was attempted.
type FinishedBatch struct {
	Batch
	Results []AttemptResult
}

// finishBatches stores the results of attempts together with the new positions of the webhooks, and gives up the
// leases. It returns the outcomes in the order of the results, and the changed webhooks.
func (s *Service) finishBatches(ctx context.Context, batches []FinishedBatch) ([]Outcome, map[int64]Webhook, error) {
	var f *finish
	err := s.writeOnly(ctx, Writing{Priority: Background}, func(tx *eventTx) (err error) {
		if err := tx.EndWhenIdle(); err != nil {
			return err
		}
		if f, err = newFinish(tx, batches); err != nil {
			return err
		}
		for _, batch := range batches {
			f.apply(batch)
		}
		return f.save(s)
	})
	if err != nil {
		return nil, nil, err
	}
	return f.outcomes, f.hooks, nil
}

// finish applies the results of several batches in one transaction.
type finish struct {
	tx       *eventTx
	now      time.Time
	before   map[int64]Webhook // the webhooks as they were read
	hooks    map[int64]Webhook // the webhooks with the results applied
	added    []Delivery        // messages from the feed that were attempted for the first time
	changed  []Delivery        // stored deliveries with a new attempt
	outcomes []Outcome
}

func newFinish(tx *eventTx, batches []FinishedBatch) (*finish, error) {
	var ids []int64
	for _, batch := range batches {
		ids = append(ids, batch.WebhookID)
	}
	hooks, err := tx.WebhooksByID(ids)
	if err != nil {
		return nil, err
	}
	f := &finish{tx: tx, before: map[int64]Webhook{}, hooks: map[int64]Webhook{}}
	for _, hook := range hooks {
		f.before[hook.ID] = hook
	}
	f.now, err = tx.Now()
	return f, err
}

// apply adds the attempts to the deliveries and updates the webhook. If another node has leased the webhook since, the
// results are lost, and that node sends the messages again.
func (f *finish) apply(batch FinishedBatch) {
	hook, found := f.before[batch.WebhookID]
	if found && !hook.LeasedUntil.Equal(batch.leasedUntil) {
		for range batch.Results {
			f.outcomes = append(f.outcomes, OutcomeLost)
		}
		return
	}
	hook.LeasedUntil = time.Time{}
	if len(batch.Results) == len(batch.Messages) {
		hook.Position = max(hook.Position, batch.position)
		if hook.probeIsDue(f.now) && batch.probed {
			hook.ProbeAt = f.now.Add(probeInterval)
		} else if hook.probeIsDue(f.now) {
			hook.ProbeAt = time.Time{}
		}
	}
	for i, result := range batch.Results {
		f.outcomes = append(f.outcomes, f.applyResult(&hook, batch.Messages[i], result))
	}
	if found {
		f.hooks[hook.ID] = hook
	}
}

// applyResult adds an attempt to its delivery and updates the health of the webhook. An attempt that was a probe is
// stored only if it succeeded.
func (f *finish) applyResult(hook *Webhook, message Message, result AttemptResult) Outcome {
	attempt, delivery := result.Attempt, message.Delivery
	attempt.Millis = attempt.Duration.Milliseconds()
	moved := message.URL != hook.URL // the attempt used the old URL, so its result says nothing about the new URL
	outcome := OutcomeRetry
	if !message.probe || attempt.succeeded() {
		delivery.Attempts = append(slices.Clip(delivery.Attempts), attempt)
		delivery.Body = addTraceparent(message.Body, message.Traceparent)
		outcome = delivery.applyAttempt(attempt, hook.Enabled, !moved && attempt.Status == http.StatusGone, f.now, result.RetryAfter)
		switch {
		case delivery.ID != 0:
			f.changed = append(f.changed, delivery)
		case hook.ID != 0: // otherwise the webhook was deleted
			if outcome == OutcomeSucceeded {
				delivery.Body = nil // the event has it
			}
			f.added = append(f.added, delivery)
		}
	}
	if !moved && delivery.EventType != testEvent {
		hook.applyAttempt(attempt, delivery, f.now)
	}
	return outcome
}

// save stores the deliveries and the webhooks. It stores the deliveries first, because disabling a webhook parks its
// deliveries. It changes the webhooks in the order of their ids, so that two nodes cannot deadlock.
func (f *finish) save(s *Service) error {
	if err := f.tx.InsertDeliveries(f.added...); err != nil {
		return err
	}
	if err := f.tx.UpdateDeliveries(f.changed...); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(f.hooks)) {
		before, hook := f.before[id], f.hooks[id]
		if !before.Enabled || hook.Enabled {
			if err := f.tx.SetWebhookProgress(hook); err != nil {
				return err
			}
			continue
		}
		before.FailingSince, before.WebhookProgress = hook.FailingSince, hook.WebhookProgress
		changed, err := s.changeWebhook(f.tx, before, hook)
		if err != nil {
			return err
		}
		f.hooks[id] = changed
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
