package shop

import (
	"context"
	"slices"
	"time"
)

// FanOut turns the events that a webhook subscribes to into deliveries, starting after the given position. It
// returns the position to continue from. Callers repeat the call until the position no longer changes.
// Several nodes may call FanOut for the same webhook at the same time. Each event still becomes only one
// delivery, because the position stored with the webhook decides which events are new.
func (s *Service) FanOut(ctx context.Context, hook Webhook, after int64) (position int64, err error) {
	after = max(after, hook.Position)
	events, reached, err := s.EventsAfter(ctx, hook.events(), after)
	if err != nil && AsError(err).Code == EventsExpired {
		return s.ResumePosition(ctx, after) // events that were removed can no longer be delivered
	}
	if err != nil || len(events) == 0 {
		return reached, err // the position is not stored, to avoid a write for events that the webhook does not want
	}
	err = s.bookkeep(ctx, func(tx BookkeepingTx) error {
		position = after
		stored, found, err := tx.Webhook(hook.ID)
		if err != nil || !found || !stored.Enabled || !slices.Equal(stored.Types, hook.Types) {
			return err // the webhook has changed, so these events may not be the ones that it wants
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
				continue // another node has already turned this event into a delivery
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

// enqueueBacklog turns all existing events that the webhook wants into deliveries. It runs before the
// webhook's types change, because existing events must be selected by the old types and later events by the
// new types.
func (s *Service) enqueueBacklog(tx BookkeepingTx, hook Webhook, now time.Time) error {
	last, err := tx.LastEvent()
	if err != nil {
		return err
	}
	for position, more := hook.Position, true; more; {
		page, err := s.events(tx, hook.events(), PageRequest{Limit: feedPage, After: &position})
		if err != nil {
			return err
		}
		for _, event := range page.Items {
			if err := enqueueDelivery(tx, hook.ID, event, now); err != nil {
				return err
			}
		}
		if more = page.More; more {
			position = page.Next(Event.Position)
		}
	}
	return tx.SetWebhookPosition(hook.ID, max(last, hook.Position))
}

// savePosition stores the position just before the first event that the webhook wants and that has not become
// a delivery yet. It runs before the webhook is disabled. When the webhook is enabled again, it continues
// from that position, whatever its types are by then.
func (s *Service) savePosition(tx BookkeepingTx, hook Webhook) error {
	position, err := tx.LastEvent()
	if err != nil {
		return err
	}
	for after, more := hook.Position, true; more; {
		next, err := s.events(tx, hook.events(), PageRequest{Limit: 1, After: &after})
		if err != nil {
			return err
		}
		if len(next.Items) > 0 {
			position = next.Items[0].position - 1
			break
		}
		if more = next.More; more {
			after = next.Next(Event.Position)
		}
	}
	return tx.SetWebhookPosition(hook.ID, max(position, hook.Position))
}
