package shop

import (
	"context"
	"maps"
	"slices"
)

// maxFanOut is the maximum number of deliveries that one transaction creates, because other writes may have to wait
// for that transaction. Only a transaction for a single event may create more.
const maxFanOut = 2000

// FanOut turns events into deliveries, for all webhooks at once. It keeps its position in the feed in memory, so that
// events that no webhook wants require no transaction. Several nodes may fan out at the same time. Each event still
// becomes only one delivery to a webhook, because the position stored with the webhook decides which events are new. A
// FanOut must not be used concurrently.
type FanOut struct {
	service  *Service
	position int64                   // the position in the feed of all webhooks that are not behind
	webhooks map[int64]*Subscription // the enabled webhooks, with positions that may be ahead of the stored ones
}

// NewFanOut returns a FanOut that continues from the stored positions.
func (s *Service) NewFanOut() *FanOut { return &FanOut{service: s} }

// HasWebhooks reports whether the last Step found enabled webhooks.
func (f *FanOut) HasWebhooks() bool { return len(f.webhooks) > 0 }

// Step creates deliveries for the next events. created is the number of deliveries, and more reports whether
// further events may be waiting. Webhooks that are far behind, such as one that was enabled again, do not delay
// the others.
func (f *FanOut) Step(ctx context.Context) (created int, more bool, err error) {
	if !f.HasWebhooks() {
		if err := f.start(ctx); err != nil || !f.HasWebhooks() {
			return 0, false, err
		}
	}
	created, more, err = f.follow(ctx)
	if err != nil {
		return created, false, err
	}
	late, moreLate, err := f.catchUp(ctx)
	return created + late, more || moreLate, err
}

// start reads the position of the last event and the enabled webhooks. A webhook with an earlier position is behind.
func (f *FanOut) start(ctx context.Context) error {
	stored, err := read(ctx, f.service, Reading{}, func(tx ReadTx) (stored []Subscription, err error) {
		if f.position, err = tx.LastEvent(); err != nil {
			return nil, err
		}
		return tx.Subscriptions()
	})
	f.update(stored)
	return err
}

// update replaces the webhooks with the stored ones. It keeps a remembered position only if the webhook's types are
// unchanged, because the events skipped so far may match the new types.
func (f *FanOut) update(stored []Subscription) {
	known := f.webhooks
	f.webhooks = make(map[int64]*Subscription, len(stored))
	for _, sub := range stored {
		sub.stored = sub.Position
		if old := known[sub.WebhookID]; old != nil && slices.Equal(old.Types, sub.Types) {
			sub.Position = max(sub.Position, old.Position)
		}
		f.webhooks[sub.WebhookID] = &sub
	}
}

// follow handles the newest events for the webhooks that are not behind.
func (f *FanOut) follow(ctx context.Context) (created int, more bool, err error) {
	before := f.position
	events, reached, err := f.service.EventsAfter(ctx, Caller{}, EventFilter{}, before)
	if err != nil {
		more, err = f.skipExpired(ctx, before, err)
		return 0, more, err
	}
	// Events about webhooks are not public, so an event that is not public may report a change to a webhook.
	if slices.ContainsFunc(events, func(e Event) bool { return !e.Type.IsPublic() }) {
		stored, err := read(ctx, f.service, Reading{}, ReadTx.Subscriptions)
		if err != nil {
			return 0, false, err
		}
		f.update(stored)
	}
	following := f.selectWebhooks(func(s *Subscription) bool { return s.Position >= before })
	created, reached, err = f.enqueue(ctx, following, events, reached, before)
	f.position = max(before, reached)
	return created, f.position > before, err
}

// catchUp handles the next events for webhooks that are behind. A webhook that is slightly behind does not wait for
// those that are far behind.
func (f *FanOut) catchUp(ctx context.Context) (created int, more bool, err error) {
	late := f.selectWebhooks(func(s *Subscription) bool { return s.Position < f.position })
	if near := slices.DeleteFunc(slices.Clone(late), func(s *Subscription) bool { return s.Position < f.position-maxStoredLag }); len(near) > 0 {
		late = near
	}
	if len(late) == 0 {
		return 0, false, nil
	}
	before := late[0].Position
	for _, sub := range late {
		before = min(before, sub.Position)
	}
	events, reached, err := f.service.EventsAfter(ctx, Caller{}, wantedBy(late), before)
	if err != nil {
		more, err = f.skipExpired(ctx, before, err)
		return 0, more, err
	}
	created, reached, err = f.enqueue(ctx, late, events, reached, before)
	return created, reached > before, err
}

func (f *FanOut) selectWebhooks(include func(*Subscription) bool) (selected []*Subscription) {
	for _, id := range slices.Sorted(maps.Keys(f.webhooks)) {
		if sub := f.webhooks[id]; include(sub) {
			selected = append(selected, sub)
		}
	}
	return selected
}

// skipExpired handles the error events_expired, which occurred when events after the given position were read. It
// moves all positions that are too early to the first position from which events can be read, because removed events
// can no longer be delivered. It returns any other error.
func (f *FanOut) skipExpired(ctx context.Context, position int64, err error) (more bool, _ error) {
	if AsError(err).Code != EventsExpired {
		return false, err
	}
	resume, err := f.service.ResumePosition(ctx, position)
	if err != nil {
		return false, err
	}
	f.position = max(f.position, resume)
	for _, sub := range f.webhooks {
		sub.Position = max(sub.Position, resume)
	}
	return resume > position, nil
}

// enqueue creates deliveries to the given webhooks for the given events up to the position reached. It returns the
// position up to which it has handled the events. This position is earlier than reached if there are too many
// deliveries for one transaction. If another node is fanning out, enqueue creates nothing and returns before.
func (f *FanOut) enqueue(ctx context.Context, to []*Subscription, events []Event, reached, before int64) (created int, _ int64, err error) {
	planned, reached := plan(to, events, reached)
	lagging := slices.ContainsFunc(to, func(s *Subscription) bool { return s.lags(reached) })
	if len(planned) > 0 || lagging {
		done := false
		created, done, err = f.write(ctx, to, events, reached)
		if err != nil || !done {
			return 0, before, err
		}
	}
	for _, sub := range to {
		if current := f.webhooks[sub.WebhookID]; current != nil && slices.Equal(current.Types, sub.Types) {
			current.Position = max(current.Position, reached)
		}
	}
	return created, reached, nil
}

// write creates the deliveries and stores the positions, in one transaction. done is false if another node is
// fanning out.
func (f *FanOut) write(ctx context.Context, to []*Subscription, events []Event, reached int64) (created int, done bool, err error) {
	var stored []Subscription
	err = f.service.bookkeep(ctx, func(tx BookkeepingTx) (err error) {
		created = 0
		if done, err = tx.TakeFanOutTurn(); err != nil || !done {
			return err
		}
		if stored, err = tx.Subscriptions(); err != nil {
			return err
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		valid, advance := reconcile(to, stored, reached)
		planned, _ := plan(valid, events, reached)
		for _, p := range planned {
			if err := tx.InsertDeliveries(newMessage(p.event), p.webhooks, now); err != nil {
				return err
			}
			created += len(p.webhooks)
			advance = append(advance, p.webhooks...)
		}
		slices.Sort(advance)
		advance = slices.Compact(advance)
		for i := range stored {
			if _, advanced := slices.BinarySearch(advance, stored[i].WebhookID); advanced {
				stored[i].Position = max(stored[i].Position, reached)
			}
		}
		return tx.AdvanceWebhooks(advance, reached)
	})
	if err != nil || !done {
		return 0, false, err
	}
	f.update(stored)
	return created, true, nil
}

// plannedEvent is an event and the webhooks that want it.
type plannedEvent struct {
	event    Event
	webhooks []int64
}

// plan returns the events that must become deliveries, each with the webhooks that want the event and have not reached
// its position. It also returns the position up to which the plan is complete. This position is earlier than reached if
// there are more deliveries than one transaction should create.
func plan(webhooks []*Subscription, events []Event, reached int64) ([]plannedEvent, int64) {
	var planned []plannedEvent
	deliveries := 0
	for _, event := range events {
		var ids []int64
		for _, sub := range webhooks {
			if event.position > sub.Position && event.position <= reached && sub.wants(event.Type) {
				ids = append(ids, sub.WebhookID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		if deliveries += len(ids); deliveries > maxFanOut && len(planned) > 0 {
			return planned, event.position - 1
		}
		planned = append(planned, plannedEvent{event, ids})
	}
	return planned, reached
}
