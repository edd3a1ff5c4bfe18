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

// pollInterval is how often the dispatcher looks for webhooks, and each courier for what is due, where nothing calls them sooner.
const pollInterval = 500 * time.Millisecond

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
	service *shop.Service
	sender  *sender
	metrics *metrics
	errors  *logDedup
}

// New makes a dispatcher.
func New(c Config) *Dispatcher {
	check := requirePublic
	if c.AllowPrivate {
		check = nil
	}
	sender := newSender(c.Version, check, nil)
	sender.now = c.Service.Now
	return &Dispatcher{c.Service, sender, newMetrics(), newLogDedup(c.Report)}
}

// Collectors are what the metrics show of the deliveries.
func (d *Dispatcher) Collectors() []prometheus.Collector { return d.metrics.collectors() }

// Run delivers until the context ends. It then claims nothing more, and returns when what was on its way has ended, and what
// became of it is noted.
func (d *Dispatcher) Run(ctx context.Context) {
	defer d.sender.close()
	var running sync.WaitGroup
	defer running.Wait()
	workers := map[int64]*worker{}
	errs := d.errors.newSource()
	defer errs.resolve()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		hooks, err := d.listWebhooks(context.WithoutCancel(ctx))
		if errs.observe(err); err == nil {
			d.updateWorkers(ctx, workers, hooks, &running)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// listWebhooks are all that there are, also those that are disabled: somebody may have asked to try one out.
func (d *Dispatcher) listWebhooks(ctx context.Context) (all []shop.Webhook, err error) {
	window := shop.Window{Limit: 100}
	for {
		page, err := d.service.ListWebhooks(ctx, window)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if !page.More {
			return all, nil
		}
		window.From = &page.Items[len(page.Items)-1].ID
	}
}

// updateWorkers has each webhook have a courier that knows how it is now, and lets those go whose webhook is gone.
func (d *Dispatcher) updateWorkers(ctx context.Context, workers map[int64]*worker, hooks []shop.Webhook, running *sync.WaitGroup) {
	current := map[int64]bool{}
	for _, hook := range hooks {
		current[hook.ID] = true
		if w := workers[hook.ID]; w != nil {
			w.hook.Store(&hook)
			continue
		}
		w := newWorker(d, hook)
		workers[hook.ID] = w
		working, stop := context.WithCancel(ctx)
		w.stop = stop
		running.Go(func() {
			defer stop()
			w.run(working)
		})
	}
	for id, w := range workers {
		if !current[id] {
			w.stop()
			delete(workers, id)
		}
	}
}
