package webhook

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"animalstore/internal/shop"
)

const (
	// maxInFlight is the maximum number of concurrent attempts from one node to one webhook.
	maxInFlight = 8
	// batchDelay is how long a worker waits for more events after the first one, so that a burst of events
	// costs only one write.
	batchDelay = 20 * time.Millisecond
	// startWithin is the maximum age of a claim when the attempt starts. The result must be recorded well
	// before the claim ends.
	startWithin = shop.ClaimDuration / 4
)

// worker delivers messages to one webhook.
type worker struct {
	*Dispatcher
	stop     context.CancelFunc
	hook     atomic.Pointer[shop.Webhook] // the webhook as last read by the dispatcher
	types    []shop.EventType             // the webhook's event types when events were last fanned out
	position int64                        // the id of the last event that was fanned out or skipped
	full     bool                         // whether the last poll filled every slot, so that more deliveries may be due
	sending  sync.WaitGroup
	slots    chan struct{} // a semaphore in which each attempt holds one slot
	freed    chan struct{} // receives a value when an attempt has released its slot
}

func newWorker(d *Dispatcher, hook shop.Webhook) *worker {
	w := &worker{Dispatcher: d, types: hook.Types, slots: make(chan struct{}, maxInFlight), freed: make(chan struct{}, 1)}
	w.hook.Store(&hook)
	return w
}

// run delivers messages until the context ends, then waits for the attempts in flight.
func (w *worker) run(ctx context.Context) {
	defer w.sending.Wait()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		hook, news := *w.hook.Load(), w.service.EventSignal() // both are obtained before the poll, so that no event is missed
		more, err := w.poll(context.WithoutCancel(ctx), hook)
		if err != nil {
			w.report(err)
		} else if more {
			continue
		}
		if !hook.Enabled {
			news = nil
		}
		var freed chan struct{}
		if w.full {
			freed = w.freed
		}
		select {
		case <-news:
			pause(ctx, batchDelay)
		case <-freed:
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// poll fans out new events and starts the deliveries that are due. The result more reports whether further
// events may be waiting.
func (w *worker) poll(ctx context.Context, hook shop.Webhook) (more bool, err error) {
	if hook.Enabled {
		more, err = w.fanOut(ctx, hook)
	}
	return more, errors.Join(err, w.startDue(ctx, hook.ID))
}

// fanOut creates deliveries for new events. The result more reports whether further events may be waiting.
func (w *worker) fanOut(ctx context.Context, hook shop.Webhook) (more bool, err error) {
	if !slices.Equal(hook.Types, w.types) { // skipped events may match the new types
		w.types, w.position = hook.Types, hook.Position
	}
	before := max(w.position, hook.Position)
	position, err := w.service.FanOut(ctx, hook, before)
	if err != nil {
		return false, err
	}
	w.position = position
	return position != before, nil
}

// startDue claims as many due deliveries as there are free slots and starts an attempt for each.
func (w *worker) startDue(ctx context.Context, id int64) error {
	free := maxInFlight - len(w.slots)
	if w.full = free == 0; w.full {
		return nil
	}
	claimedAt := time.Now() // earlier than the claims themselves, which the database grants after this moment
	claims, err := w.service.ClaimDeliveries(ctx, id, free)
	for _, claim := range claims {
		w.slots <- struct{}{}
		w.sending.Go(func() {
			defer w.releaseSlot()
			w.attempt(ctx, claim, claimedAt)
		})
	}
	w.full = len(claims) == free
	return err
}

// releaseSlot frees an attempt's slot and wakes the worker.
func (w *worker) releaseSlot() {
	<-w.slots
	select {
	case w.freed <- struct{}{}:
	default: // the worker has already been signalled
	}
}

// attempt sends one message and records the result.
func (w *worker) attempt(ctx context.Context, claim shop.Claim, claimedAt time.Time) {
	if time.Since(claimedAt) > startWithin {
		return // the claim could end during the attempt, and another node would then send the same message
	}
	w.metrics.inFlight.Inc()
	attempt, after := w.sender.send(ctx, claim)
	w.metrics.inFlight.Dec()
	w.metrics.duration.Observe(attempt.Duration.Seconds())
	w.metrics.outcomes.WithLabelValues(string(w.recordAttempt(ctx, claim, attempt, after, claimedAt.Add(shop.ClaimDuration)))).Inc()
}

// recordAttempt stores the result of an attempt. It retries until the claim ends. If the result is not stored
// by then, it is lost and the message is sent again.
func (w *worker) recordAttempt(ctx context.Context, claim shop.Claim, attempt shop.Attempt, after time.Duration, until time.Time) shop.Outcome {
	for {
		outcome, err := w.service.FinishAttempt(ctx, claim, attempt, after)
		if err == nil {
			return outcome
		}
		w.report(err)
		if time.Now().After(until) {
			return shop.OutcomeLost
		}
		pause(ctx, pollInterval)
	}
}

// pause waits for the given time or until the context ends.
func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}
