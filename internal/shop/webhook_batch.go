package shop

import (
	"context"
	"maps"
	"slices"
	"time"
)

const (
	// LeaseDuration is how long a node holds a webhook. After that, another node may send to it. It is twice the timeout
	// for an attempt. It is not longer, because a webhook that was held by a node that crashed gets nothing until the
	// lease ends.
	LeaseDuration = 30 * time.Second
	// MaxBatch is the maximum number of messages that are sent to one webhook at the same time.
	MaxBatch = 8
)

// Message is a message that is to be sent to a webhook.
type Message struct {
	Delivery // its ID is 0 if the message is from the feed and was never attempted
	URL      string
	Secrets  []string // the secrets used to sign the message, newest first
	// Traceparent is the W3C traceparent of the request that caused the event, or "" if the request was not traced.
	Traceparent string
	probe       bool // the message is sent only to find out whether the webhook still is down
}

// Batch contains messages that one node sends to one webhook at the same time, while it holds the webhook's lease.
type Batch struct {
	WebhookID   int64
	Failing     bool // every recent attempt to send to the webhook has failed
	Messages    []Message
	leasedUntil time.Time
	position    int64 // the webhook's position once all messages have been attempted
	probed      bool  // the batch contains the oldest failed message
	moreDue     bool  // there may be more stored deliveries that are due
}

// wantedBatch says what a batch for a webhook may contain.
type wantedBatch struct {
	limit int  // the maximum number of messages
	due   bool // whether stored deliveries are due
}

// leaseBatches leases those of the given webhooks that no other node holds, and returns the next messages to each of
// them.
func (s *Service) leaseBatches(ctx context.Context, wanted map[int64]wantedBatch) ([]Batch, error) {
	var leased []int64
	var until time.Time
	err := s.inBackground(ctx, func(tx BookkeepingTx) error {
		if err := tx.EndWhenIdle(); err != nil {
			return err
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		until = now.Add(LeaseDuration)
		leased, err = tx.LeaseWebhooks(slices.Sorted(maps.Keys(wanted)), now, until)
		return err
	})
	if err != nil || len(leased) == 0 {
		return nil, err
	}
	return read(ctx, s, Reading{}, func(tx ReadTx) (batches []Batch, err error) {
		now, err := tx.Now()
		if err != nil {
			return nil, err
		}
		hooks, err := tx.WebhooksByID(leased)
		if err != nil {
			return nil, err
		}
		secrets, err := tx.WebhookSecrets(leased, now)
		if err != nil {
			return nil, err
		}
		for _, hook := range hooks {
			batch, err := s.nextBatch(tx, hook, now, wanted[hook.ID])
			if err != nil {
				return nil, err
			}
			for i := range batch.Messages {
				batch.Messages[i].URL, batch.Messages[i].Secrets = hook.URL, secrets[hook.ID]
			}
			batch.leasedUntil = until
			batches = append(batches, batch)
		}
		return batches, nil
	})
}

// nextBatch returns the next messages to a webhook: the oldest failed one if the webhook is down and a probe is due, then
// stored deliveries that are due, then the next events that the webhook wants.
func (s *Service) nextBatch(tx ReadTx, hook Webhook, now time.Time, wanted wantedBatch) (Batch, error) {
	batch := Batch{WebhookID: hook.ID, Failing: !hook.FailingSince.IsZero(), position: hook.Position}
	if hook.probeIsDue(now) {
		oldest, found, err := tx.OldestFailedDelivery(hook.ID)
		if err != nil {
			return Batch{}, err
		}
		if batch.probed = found; found {
			batch.Messages = append(batch.Messages, storedMessage(oldest, true))
		}
	}
	if wanted.due {
		due, err := tx.DueDeliveries(hook.ID, now, wanted.limit)
		if err != nil {
			return Batch{}, err
		}
		batch.addDue(due, wanted.limit)
	}
	// A webhook without any failed message cannot be probed, so it is not down any more.
	follows := hook.Enabled && (!hook.isDown() || hook.probeIsDue(now) && !batch.probed)
	room := wanted.limit - len(batch.Messages)
	if !follows || room == 0 {
		return batch, nil
	}
	events, reached, err := s.nextEvents(tx, hook, room)
	for _, event := range events {
		batch.Messages = append(batch.Messages, Message{Traceparent: event.traceparent, Delivery: Delivery{
			WebhookID: hook.ID, MessageID: "evt_" + event.ID, EventID: event.ID, EventType: event.Type, Status: DeliveryPending,
			CreatedAt: now, Body: encode(event),
		}})
	}
	batch.position = reached
	return batch, err
}

// addDue adds stored deliveries to a batch. If the message of the probe is among them, it is no probe but an attempt.
func (b *Batch) addDue(due []Delivery, limit int) {
	b.moreDue = len(due) == limit
	for _, delivery := range due {
		if b.probed && b.Messages[0].ID == delivery.ID {
			b.Messages[0].probe = false
		} else if len(b.Messages) < limit {
			b.Messages = append(b.Messages, storedMessage(delivery, false))
		}
	}
}

// nextEvents returns at most limit events after the position of a webhook that the webhook wants, and the position up to
// which it wants no others.
func (s *Service) nextEvents(tx ReadTx, hook Webhook, limit int) (events []Event, reached int64, err error) {
	if events, reached, ok := s.RecentEvents(hook.events(), hook.Position); ok {
		if len(events) > limit {
			events, reached = events[:limit], events[limit-1].position
		}
		return events, reached, nil
	}
	position, err := resumePosition(tx, hook.Position)
	if err != nil && AsError(err).Code != EventsExpired { // events that were removed can no longer be sent
		return nil, 0, err
	}
	page, err := s.events(tx, hook.events(), PageRequest{Limit: limit, After: &position})
	if err != nil {
		return nil, 0, err
	}
	if page.More {
		return page.Items, page.Next(Event.Position), nil
	}
	last, err := tx.LastEvent()
	return page.Items, max(position, last), err
}

// storedMessage returns the message of a stored delivery.
func storedMessage(delivery Delivery, probe bool) Message {
	message := Message{Delivery: delivery, probe: probe}
	message.Body, message.Traceparent = cutTraceparent(delivery.Body)
	return message
}
