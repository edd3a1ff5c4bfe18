package shop

import (
	"context"
	"slices"
	"time"
)

// FanOut makes deliveries of the events that a webhook has not been told of, after a position that it has reached at
// least, and returns the position that it reaches now. There may be more where that is another one. Any number of nodes may
// do it at once.
func (s *Service) FanOut(ctx context.Context, hook Webhook, after int64) (reached int64, err error) {
	after = max(after, hook.Position)
	events, reached, err := s.EventsAfter(ctx, EventFilter{Types: hook.Types}, after)
	if err != nil && AsError(err).Code == EventsExpired {
		return s.ResumePosition(ctx, after) // what is gone cannot be told any more
	}
	if err != nil || len(events) == 0 {
		return reached, err // where nothing concerns it, nothing is noted: its filter may be narrow, and the feed long
	}
	told := after
	err = s.bookkeep(ctx, func(tx BookkeepingTx) error {
		told = after
		stored, found, err := tx.Webhook(hook.ID)
		if err != nil || !found || !stored.Enabled || !slices.Equal(stored.Types, hook.Types) {
			return err // it is not any more what these events were chosen for, and may want others
		}
		told = reached
		if stored.Position >= reached {
			return nil
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		for _, event := range events {
			if event.position <= stored.Position {
				continue // another node was quicker
			}
			if err := enqueueDelivery(tx, hook.ID, event, now); err != nil {
				return err
			}
		}
		return tx.SetWebhookPosition(hook.ID, reached)
	})
	if err != nil {
		return after, err
	}
	return told, nil
}

// enqueueDelivery makes a delivery of an event.
func enqueueDelivery(tx BookkeepingTx, webhookID int64, event Event, now time.Time) error {
	_, err := tx.InsertDelivery(Delivery{
		WebhookID: webhookID, MessageID: "evt_" + event.ID, EventID: event.ID, EventType: event.Type,
		Status: DeliveryPending, CreatedAt: now, NextAttemptAt: now, Body: encode(event),
	})
	return err
}

// enqueueBacklog tells a webhook of all that has happened, before it wants to be told of something else: what comes later is
// chosen anew.
func (s *Service) enqueueBacklog(tx BookkeepingTx, hook Webhook, now time.Time) error {
	last, err := tx.LastEvent()
	if err != nil {
		return err
	}
	for position, more := hook.Position, true; more; {
		events, err := s.events(tx, EventFilter{Types: hook.Types}, PageRequest{Limit: feedPage, After: &position})
		if err != nil {
			return err
		}
		for _, event := range events {
			if err := enqueueDelivery(tx, hook.ID, event, now); err != nil {
				return err
			}
			position = event.position
		}
		more = len(events) == feedPage
	}
	return tx.SetWebhookPosition(hook.ID, max(last, hook.Position))
}

// savePosition notes up to where a webhook has been told everything that concerns it, so that it goes on from there when it is
// enabled, and whatever it wants to be told then.
func (s *Service) savePosition(tx BookkeepingTx, hook Webhook) error {
	place, err := tx.LastEvent()
	if err != nil {
		return err
	}
	next, err := s.events(tx, EventFilter{Types: hook.Types}, PageRequest{Limit: 1, After: &hook.Position})
	if err != nil {
		return err
	}
	if len(next) > 0 {
		place = next[0].position - 1
	}
	return tx.SetWebhookPosition(hook.ID, max(place, hook.Position))
}
