package shop

import (
	"context"
	"slices"
	"time"
)

// FanOut turns the events after a position that a webhook subscribes to into deliveries, and returns the
// position to continue from. The caller repeats it until the position no longer changes. Several nodes may
// fan out for the same webhook at once: its stored position decides which events are new, so each event
// becomes one delivery.
func (s *Service) FanOut(ctx context.Context, hook Webhook, after int64) (position int64, err error) {
	after = max(after, hook.Position)
	events, reached, err := s.EventsAfter(ctx, EventFilter{Types: hook.Types}, after)
	if err != nil && AsError(err).Code == EventsExpired {
		return s.ResumePosition(ctx, after) // removed events cannot be delivered any more
	}
	if err != nil || len(events) == 0 {
		return reached, err // not stored: that would be a write for events the webhook does not want
	}
	err = s.bookkeep(ctx, func(tx BookkeepingTx) error {
		position = after
		stored, found, err := tx.Webhook(hook.ID)
		if err != nil || !found || !stored.Enabled || !slices.Equal(stored.Types, hook.Types) {
			return err // the webhook has changed: these events may not be the ones that it wants
		}
		position = reached
		if stored.Position >= reached {
			return nil
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		for _, event := range events {
			if event.position <= stored.Position {
				continue // another node was faster
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
	return position, nil
}

func enqueueDelivery(tx BookkeepingTx, webhookID int64, event Event, now time.Time) error {
	_, err := tx.InsertDelivery(Delivery{
		WebhookID: webhookID, MessageID: "evt_" + event.ID, EventID: event.ID, EventType: event.Type,
		Status: DeliveryPending, CreatedAt: now, NextAttemptAt: now, Body: encode(event),
	})
	return err
}

// enqueueBacklog turns all events up to now into deliveries. It runs before a webhook changes its types:
// earlier events are selected by the old types, later ones by the new types.
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

// savePosition stores the position before the first event that the webhook wants and that is not a delivery
// yet. It runs before a webhook is disabled: when it is enabled again, whatever its types are then, it
// continues with that event.
func (s *Service) savePosition(tx BookkeepingTx, hook Webhook) error {
	position, err := tx.LastEvent()
	if err != nil {
		return err
	}
	next, err := s.events(tx, EventFilter{Types: hook.Types}, PageRequest{Limit: 1, After: &hook.Position})
	if err != nil {
		return err
	}
	if len(next) > 0 {
		position = next[0].position - 1
	}
	return tx.SetWebhookPosition(hook.ID, max(position, hook.Position))
}
