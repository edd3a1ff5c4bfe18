// Package webhook delivers messages to webhooks: it claims what is due, signs it, sends it, and has the shop note what became
// of it. What is due and when it is tried again are rules of the shop.
package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/shop"
)

// every is how often the dispatcher looks for webhooks, and each courier for what is due, where nothing calls them sooner.
const every = 500 * time.Millisecond

// Config is what a dispatcher is told when it is made.
type Config struct {
	Service *shop.Service
	// Version is shown to the receivers.
	Version string
	// AllowPrivate lets messages go to addresses that are not public.
	AllowPrivate bool
	// Report is called with what went wrong on our side, once until it is over.
	Report func(error)
}

// Dispatcher has a courier for each webhook, so that none waits for the receiver of another. Any number of nodes may have one
// on the same store: they share the work, because a delivery is sent by whoever has claimed it.
type Dispatcher struct {
	service  *shop.Service
	sender   *sender
	metrics  *metrics
	troubles *troubles
}

// New makes a dispatcher.
func New(c Config) *Dispatcher {
	check := publicOnly
	if c.AllowPrivate {
		check = nil
	}
	sender := newSender(c.Version, check, nil)
	sender.now = c.Service.Now
	return &Dispatcher{c.Service, sender, newMetrics(), newTroubles(c.Report)}
}

// Collectors are what the metrics show of the deliveries.
func (d *Dispatcher) Collectors() []prometheus.Collector { return d.metrics.collectors() }

// Run delivers until the context ends. It then claims nothing more, and returns when what was on its way has ended, and what
// became of it is noted.
func (d *Dispatcher) Run(ctx context.Context) {
	defer d.sender.close()
	var running sync.WaitGroup
	defer running.Wait()
	couriers := map[int64]*courier{}
	trouble := d.troubles.one()
	defer trouble.over()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for ctx.Err() == nil {
		hooks, err := d.webhooks(context.WithoutCancel(ctx))
		if trouble.note(err); err == nil {
			d.assign(ctx, couriers, hooks, &running)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// webhooks are all that there are, also those that are disabled: somebody may have asked to try one out.
func (d *Dispatcher) webhooks(ctx context.Context) (all []shop.Webhook, err error) {
	window := shop.PageRequest{Limit: 100}
	for {
		page, err := d.service.ListWebhooks(ctx, window)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if !page.More {
			return all, nil
		}
		window.After = &page.Items[len(page.Items)-1].ID
	}
}

// assign has each webhook have a courier that knows how it is now, and lets those go whose webhook is gone.
func (d *Dispatcher) assign(ctx context.Context, couriers map[int64]*courier, hooks []shop.Webhook, running *sync.WaitGroup) {
	there := map[int64]bool{}
	for _, hook := range hooks {
		there[hook.ID] = true
		if c := couriers[hook.ID]; c != nil {
			c.hook.Store(&hook)
			continue
		}
		c := newCourier(d, hook)
		couriers[hook.ID] = c
		working, stop := context.WithCancel(ctx)
		c.stop = stop
		running.Go(func() {
			defer stop()
			c.run(working)
		})
	}
	for id, c := range couriers {
		if !there[id] {
			c.stop()
			delete(couriers, id)
		}
	}
}
