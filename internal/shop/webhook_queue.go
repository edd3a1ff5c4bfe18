package shop

import (
	"context"
	"slices"
	"time"
)

// maxPositionLag is the number of events by which the stored position of a webhook may lag behind if the webhook wants
// none of these events. Storing the position with every event would cost a write for each webhook.
const maxPositionLag = 1000

// WebhookQueue finds the webhooks that have something to send and leases them for one node. It remembers which events
// it has compared with the types of each webhook, so an event that no webhook wants costs no transaction. What it
// remembers may be out of date. Only the state stored with a webhook decides what is sent. A WebhookQueue must not be
// used concurrently.
type WebhookQueue struct {
	service  *Service
	webhooks []*queuedWebhook // the one that has waited longest for a lease of this node comes first
	now      time.Time        // when the webhooks were last read, by the store's clock; zero if they never were
}

// WebhookState is a webhook and whether it has stored deliveries to send.
type WebhookState struct {
	Webhook
	Due bool // the next attempt of a stored delivery is due
}

type queuedWebhook struct {
	WebhookState
	held     bool  // this node holds the lease
	compared int64 // the webhook wants no event after its position up to this one
}

// Room is how many more messages a node may have in flight.
type Room struct {
	Total   int // the number of messages
	Failing int // how many of them may be sent to failing webhooks
}

// NewWebhookQueue returns a queue that reads the webhooks when it is first used.
func (s *Service) NewWebhookQueue() *WebhookQueue { return &WebhookQueue{service: s} }

// HasWebhooks reports whether there were enabled webhooks when the queue last read them.
func (q *WebhookQueue) HasWebhooks() bool {
	return slices.ContainsFunc(q.webhooks, func(w *queuedWebhook) bool { return w.Enabled })
}

// Refresh reads all webhooks. It must be called regularly, because it is how the queue notices changes of webhooks,
// stored deliveries that are due, and leases that other nodes have given up.
func (q *WebhookQueue) Refresh(ctx context.Context) error {
	var now time.Time
	stored, err := read(ctx, q.service, Reading{}, func(tx ReadTx) (states []WebhookState, err error) {
		if now, err = tx.Now(); err != nil {
			return nil, err
		}
		return tx.WebhookStates(now)
	})
	if err != nil {
		return err
	}
	byID := make(map[int64]WebhookState, len(stored))
	for _, state := range stored {
		byID[state.ID] = state
	}
	var webhooks []*queuedWebhook
	for _, w := range q.webhooks {
		if state, found := byID[w.ID]; found {
			if state.Position < w.Position || !slices.Equal(state.Types, w.Types) {
				w.compared = 0
			}
			w.WebhookState = state
			webhooks = append(webhooks, w)
			delete(byID, w.ID)
		}
	}
	for _, state := range stored {
		if _, added := byID[state.ID]; added {
			webhooks = append(webhooks, &queuedWebhook{WebhookState: state})
		}
	}
	q.webhooks, q.now = webhooks, now
	return nil
}

// Behind returns the number of events by which the webhook that is most behind follows the feed, as of the last Refresh. A
// webhook that wants none of the last events may seem to be a little behind.
func (q *WebhookQueue) Behind() (events int64) {
	last, _ := q.service.FeedState()
	for _, w := range q.webhooks {
		if w.Enabled {
			events = max(events, last-max(w.Position, w.compared))
		}
	}
	return events
}

// Lease leases webhooks that have something to send and returns the next messages to each of them. If there are more
// messages than room, each webhook gets an equal share. After the messages have been attempted, the caller must pass
// the batches to Finish.
func (q *WebhookQueue) Lease(ctx context.Context, room Room) ([]Batch, error) {
	if q.now.IsZero() {
		if err := q.Refresh(ctx); err != nil {
			return nil, err
		}
	}
	wanted := q.choose(room)
	if len(wanted) == 0 {
		return nil, nil
	}
	batches, err := q.service.leaseBatches(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for id := range wanted {
		w := q.find(id)
		w.Due, w.compared = false, w.Position // if another node holds the webhook, the next refresh shows its state
		w.held = slices.ContainsFunc(batches, func(b Batch) bool { return b.WebhookID == id })
		w.LeasedUntil = q.now.Add(LeaseDuration)
	}
	empty := func(b Batch) bool { return len(b.Messages) == 0 }
	var nothing []FinishedBatch // a webhook that wants none of the next events gets a new position
	for _, batch := range batches {
		if empty(batch) {
			nothing = append(nothing, FinishedBatch{Batch: batch})
		}
	}
	if len(nothing) > 0 {
		if _, err := q.Finish(ctx, nothing...); err != nil {
			q.Abandon(nothing...)
			return slices.DeleteFunc(batches, empty), err
		}
	}
	return slices.DeleteFunc(batches, empty), nil
}

// choose returns the webhooks to lease and moves them to the end of the queue.
func (q *WebhookQueue) choose(room Room) map[int64]wantedBatch {
	var chosen, rest []*queuedWebhook
	failing := 0
	for _, w := range q.webhooks {
		isFailing := !w.FailingSince.IsZero()
		switch {
		case len(chosen) >= room.Total || isFailing && failing >= room.Failing || !q.hasWork(w):
			rest = append(rest, w)
			continue
		case isFailing:
			failing++
		}
		chosen = append(chosen, w)
	}
	q.webhooks = append(rest, chosen...)
	wanted := make(map[int64]wantedBatch, len(chosen))
	for _, w := range chosen {
		limit := min(MaxBatch, room.Total/len(chosen))
		if !w.FailingSince.IsZero() {
			limit = min(limit, room.Failing/failing)
		}
		wanted[w.ID] = wantedBatch{limit, w.Due}
	}
	return wanted
}

// hasWork reports whether a webhook may have something to send.
func (q *WebhookQueue) hasWork(w *queuedWebhook) bool {
	switch {
	case w.held || w.isLeased(q.now):
		return false
	case w.Due || w.probeIsDue(q.now):
		return true
	case !w.Enabled || w.isDown():
		return false
	}
	recent, reached, ok := q.service.feed.after(max(w.Position, w.compared))
	if !ok || slices.ContainsFunc(recent, w.events().matches) {
		return true
	}
	w.compared = reached
	return reached-w.Position >= maxPositionLag
}

// find returns the webhook with the given id, or nil if it was deleted.
func (q *WebhookQueue) find(id int64) *queuedWebhook {
	if i := slices.IndexFunc(q.webhooks, func(w *queuedWebhook) bool { return w.ID == id }); i >= 0 {
		return q.webhooks[i]
	}
	return nil
}

// Finish stores the results of batches and gives up their leases. It returns the outcome of every attempt. If it
// fails, it may be called again until the leases end.
func (q *WebhookQueue) Finish(ctx context.Context, batches ...FinishedBatch) ([]Outcome, error) {
	outcomes, stored, err := q.service.finishBatches(ctx, batches)
	if err != nil {
		return nil, err
	}
	q.Abandon(batches...)
	for _, batch := range batches {
		hook, found := stored[batch.WebhookID]
		if w := q.find(batch.WebhookID); w != nil && found {
			w.WebhookState, w.compared = WebhookState{hook, batch.moreDue}, hook.Position
		}
	}
	return outcomes, nil
}

// Abandon gives up batches whose results cannot be stored. Their messages are sent again when the leases have ended.
func (q *WebhookQueue) Abandon(batches ...FinishedBatch) {
	for _, batch := range batches {
		if w := q.find(batch.WebhookID); w != nil {
			w.held = false
		}
	}
}
