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
	// atOnce is how many messages a node has on their way to one webhook.
	atOnce = 8
	// gather is how long a courier waits after news for more of them: many events then cost one write.
	gather = 20 * time.Millisecond
	// beginWithin is how late in its claim an attempt may begin: it must be over, and noted, well before the claim is.
	beginWithin = shop.ClaimDuration / 4
)

// courier delivers to one webhook.
type courier struct {
	*Dispatcher
	stop    context.CancelFunc
	hook    atomic.Pointer[shop.Webhook] // as the dispatcher has seen it last
	types   []shop.EventType             // what it wanted to be told when the courier last looked
	reached int64                        // how far the courier has looked for it
	full    bool                         // all that it could take were due: there may be more
	sending sync.WaitGroup
	slots   chan struct{} // one is held by each attempt
	freed   chan struct{} // receives when one has been given back
}

func newCourier(d *Dispatcher, hook shop.Webhook) *courier {
	c := &courier{Dispatcher: d, types: hook.Types, slots: make(chan struct{}, atOnce), freed: make(chan struct{}, 1)}
	c.hook.Store(&hook)
	return c
}

// run delivers until the context ends, and returns when nothing is on its way any more.
func (c *courier) run(ctx context.Context) {
	defer c.sending.Wait()
	trouble := c.troubles.one()
	defer trouble.over()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for ctx.Err() == nil {
		hook, news := *c.hook.Load(), c.service.EventSignal() // before looking, so that none is missed
		more, err := c.round(context.WithoutCancel(ctx), hook)
		trouble.note(err)
		if more && err == nil {
			continue
		}
		if !hook.Enabled {
			news = nil
		}
		var freed chan struct{}
		if c.full {
			freed = c.freed
		}
		select {
		case <-news:
			pause(ctx, gather)
		case <-freed:
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// round makes deliveries of what has happened and begins with those that are due. It tells whether there may be more events.
func (c *courier) round(ctx context.Context, hook shop.Webhook) (more bool, err error) {
	if hook.Enabled {
		more, err = c.fanOut(ctx, hook)
	}
	return more, errors.Join(err, c.begin(ctx, hook.ID))
}

// fanOut makes deliveries of what has happened, and tells whether there may be more.
func (c *courier) fanOut(ctx context.Context, hook shop.Webhook) (more bool, err error) {
	if !slices.Equal(hook.Types, c.types) { // what was passed over may be wanted now
		c.types, c.reached = hook.Types, hook.Position
	}
	before := max(c.reached, hook.Position)
	reached, err := c.service.FanOut(ctx, hook, before)
	if err != nil {
		return false, err
	}
	c.reached = reached
	return reached != before, nil
}

// begin begins with the deliveries that are due, as many as there are slots for.
func (c *courier) begin(ctx context.Context, id int64) error {
	free := atOnce - len(c.slots)
	if c.full = free == 0; c.full {
		return nil
	}
	asked := time.Now() // the claims last from then on at least, whatever the database's clock says
	claims, err := c.service.ClaimDeliveries(ctx, id, free)
	for _, claim := range claims {
		c.slots <- struct{}{}
		c.sending.Go(func() {
			defer c.release()
			c.attempt(ctx, claim, asked)
		})
	}
	c.full = len(claims) == free
	return err
}

// release gives a slot back.
func (c *courier) release() {
	<-c.slots
	select {
	case c.freed <- struct{}{}:
	default: // the courier knows already
	}
}

// attempt sends one message and has noted what became of it.
func (c *courier) attempt(ctx context.Context, claim shop.Claim, asked time.Time) {
	if time.Since(asked) > beginWithin {
		return // another node might take it for abandoned while it is on its way
	}
	c.metrics.inFlight.Inc()
	attempt, after := c.sender.send(ctx, claim)
	c.metrics.inFlight.Dec()
	c.metrics.duration.Observe(attempt.Duration.Seconds())
	c.metrics.outcomes.WithLabelValues(string(c.finish(ctx, claim, attempt, after, asked.Add(shop.ClaimDuration)))).Inc()
}

// finish has noted what became of an attempt. While that cannot be done it is tried again, until the claim is over: what is
// not noted is sent again.
func (c *courier) finish(ctx context.Context, claim shop.Claim, attempt shop.Attempt, after time.Duration, until time.Time) shop.Outcome {
	trouble := c.troubles.one()
	defer trouble.over()
	for {
		outcome, err := c.service.FinishAttempt(ctx, claim, attempt, after)
		if err == nil {
			return outcome
		}
		trouble.note(err)
		if time.Now().After(until) {
			return shop.OutcomeLost
		}
		pause(ctx, every)
	}
}

// pause waits, unless the context ends.
func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}
