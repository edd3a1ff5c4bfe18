package shop

import "time"

// enqueueBacklog turns the next page of existing events that the webhook wants into deliveries. more reports whether
// there are further events. They need another transaction, because other writes may be waiting for this one. All
// existing events must become deliveries before the webhook's types change, because they are selected by the old
// types and later events by the new types.
func (s *Service) enqueueBacklog(tx BookkeepingTx, hook Webhook, now time.Time) (more bool, err error) {
	reached, err := tx.LastEvent()
	if err != nil {
		return false, err
	}
	page, err := s.events(tx, hook.events(), PageRequest{Limit: feedPage, After: &hook.Position})
	if err != nil {
		return false, err
	}
	if page.More {
		reached = page.Next(Event.Position)
	}
	for _, event := range page.Items {
		if err := tx.InsertDeliveries(newMessage(event), []int64{hook.ID}, now); err != nil {
			return false, err
		}
	}
	return page.More, tx.AdvanceWebhooks([]int64{hook.ID}, reached)
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
	return tx.AdvanceWebhooks([]int64{hook.ID}, position)
}
