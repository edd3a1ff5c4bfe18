package shop

import "slices"

// maxStoredLag is the number of events by which the stored position of a webhook may lag behind if the webhook
// wants none of these events. Storing the position with every event would cost a write for each webhook.
const maxStoredLag = 1000

// Subscription contains the event types that an enabled webhook wants, and its position in the feed.
type Subscription struct {
	WebhookID int64
	Types     []EventType // empty means all public event types
	Position  int64       // all wanted events up to this position have become deliveries
	stored    int64       // the webhook's stored position when it was last read
}

// lags reports whether the stored position is too far behind the position reached and must be updated.
func (s *Subscription) lags(reached int64) bool { return reached-s.stored >= maxStoredLag }

func (s *Subscription) wants(t EventType) bool {
	if len(s.Types) == 0 {
		return t.IsPublic()
	}
	return slices.Contains(s.Types, t)
}

// wantedBy returns a filter that matches every event that any of the webhooks wants. It may also match other events.
func wantedBy(webhooks []*Subscription) EventFilter {
	var types []EventType
	for _, sub := range webhooks {
		if len(sub.Types) == 0 {
			return EventFilter{}
		}
		types = append(types, sub.Types...)
	}
	return EventFilter{Types: canonicalTypes(types)}
}

// reconcile compares remembered webhooks with the stored ones. It returns those whose types are unchanged, each with
// the later of its remembered and its stored position. It leaves out the others, which may no longer want the same
// events. late contains the ids of the returned webhooks whose stored position lags.
func reconcile(remembered []*Subscription, stored []Subscription, reached int64) (valid []*Subscription, late []int64) {
	byID := make(map[int64]*Subscription, len(stored))
	for i := range stored {
		byID[stored[i].WebhookID] = &stored[i]
	}
	for _, sub := range remembered {
		current := byID[sub.WebhookID]
		if current == nil || !slices.Equal(current.Types, sub.Types) {
			continue
		}
		now := Subscription{sub.WebhookID, sub.Types, max(sub.Position, current.Position), current.Position}
		valid = append(valid, &now)
		if now.lags(reached) {
			late = append(late, sub.WebhookID)
		}
	}
	return valid, late
}
