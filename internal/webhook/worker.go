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
	// maxInFlight is how many messages a node has on their way to one webhook.
	maxInFlight = 8
	// batchDelay is how long a courier waits after news for more of them: many events then cost one write.
	batchDelay = 20 * time.Millisecond
	// startWithin is how late in its claim an attempt may begin: it must be over, and noted, well before the claim is.
	startWithin = shop.ClaimFor / 4
)

// worker delivers to one webhook.
type worker struct {
	*Dispatcher
	stop     context.CancelFunc
	hook     atomic.Pointer[shop.Webhook] // as the dispatcher has seen it last
	types    []shop.EventType             // what it wanted to be told when the courier last looked
	position int64                        // how far the courier has looked for it
	full     bool                         // all that it could take were due: there may be more
	sending  sync.WaitGroup
	slots    chan struct{} // one is held by each attempt
	freed    chan struct{} // receives when one has been given back
}

func newWorker(d *Dispatcher, hook shop.Webhook) *worker {
	w := &worker{Dispatcher: d, types: hook.Types, slots: make(chan struct{}, maxInFlight), freed: make(chan struct{}, 1)}
	w.hook.Store(&hook)
	return w
}

// run delivers until the context ends, and returns when nothing is on its way any more.
func (w *worker) run(ctx context.Context) {
	defer w.sending.Wait()
	errs := w.errors.newSource()
	defer errs.resolve()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		hook, news := *w.hook.Load(), w.service.News() // before looking, so that none is missed
		more, err := w.poll(context.WithoutCancel(ctx), hook)
		errs.observe(err)
		if more && err == nil {
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

// poll makes deliveries of what has happened and begins with those that are due. It tells whether there may be more events.
func (w *worker) poll(ctx context.Context, hook shop.Webhook) (more bool, err error) {
	if hook.Enabled {
		more, err = w.fanOut(ctx, hook)
	}
	return more, errors.Join(err, w.startDue(ctx, hook.ID))
}

// fanOut makes deliveries of what has happened, and tells whether there may be more.
func (w *worker) fanOut(ctx context.Context, hook shop.Webhook) (more bool, err error) {
	if !slices.Equal(hook.Types, w.types) { // what was passed over may be wanted now
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

// startDue begins with the deliveries that are due, as many as there are slots for.
func (w *worker) startDue(ctx context.Context, id int64) error {
	free := maxInFlight - len(w.slots)
	if w.full = free == 0; w.full {
		return nil
	}
	claimedAt := time.Now() // the claims last from then on at least, whatever the database's clock says
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

// releaseSlot gives a slot back.
func (w *worker) releaseSlot() {
	<-w.slots
	select {
	case w.freed <- struct{}{}:
	default: // the courier knows already
	}
}

// attempt sends one message and has noted what became of it.
func (w *worker) attempt(ctx context.Context, claim shop.Claim, claimedAt time.Time) {
	if time.Since(claimedAt) > startWithin {
		return // another node might take it for abandoned while it is on its way
	}
	w.metrics.inFlight.Inc()
	attempt, after := w.sender.send(ctx, claim)
	w.metrics.inFlight.Dec()
	w.metrics.duration.Observe(attempt.Duration.Seconds())
	w.metrics.outcomes.WithLabelValues(string(w.recordAttempt(ctx, claim, attempt, after, claimedAt.Add(shop.ClaimFor)))).Inc()
}

// recordAttempt has noted what became of an attempt. While that cannot be done it is tried again, until the claim is over: what is
// not noted is sent again.
func (w *worker) recordAttempt(ctx context.Context, claim shop.Claim, attempt shop.Attempt, after time.Duration, until time.Time) shop.Outcome {
	errs := w.errors.newSource()
	defer errs.resolve()
	for {
		outcome, err := w.service.FinishAttempt(ctx, claim, attempt, after)
		if err == nil {
			return outcome
		}
		errs.observe(err)
		if time.Now().After(until) {
			return shop.OutcomeLost
		}
		pause(ctx, pollInterval)
	}
}

// pause waits, unless the context ends.
func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}
