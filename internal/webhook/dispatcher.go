// Package webhook sends messages to webhooks. It claims deliveries that are due, signs and sends the
// messages, and records the results. Package shop decides which deliveries are due and when a failed delivery
// is retried.
package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/shop"
)

// pollInterval is how often the dispatcher lists the webhooks. It is also how often each worker looks for due
// deliveries if no new event wakes it earlier.
const pollInterval = 500 * time.Millisecond

// Config holds the settings for a Dispatcher.
type Config struct {
	Service *shop.Service
	// Version is the program's version, which is sent in the User-Agent header.
	Version string
	// AllowPrivate permits webhooks at addresses that are not public.
	AllowPrivate bool
	// Report is called for each error in the service itself, but not for errors caused by receivers. It may
	// be called concurrently and repeatedly for the same cause.
	Report func(error)
}

// Dispatcher runs one worker per webhook, so that a slow receiver does not delay other webhooks. Any number
// of nodes may run a dispatcher on the same store, because each node sends only the deliveries that it has
// claimed.
type Dispatcher struct {
	service *shop.Service
	sender  *sender
	metrics *metrics
	report  func(error)
}

// New returns a dispatcher. Call Run to start it.
func New(c Config) *Dispatcher {
	check := requirePublic
	if c.AllowPrivate {
		check = nil
	}
	sender := newSender(c.Version, check, nil)
	sender.now = c.Service.Now
	return &Dispatcher{c.Service, sender, newMetrics(), c.Report}
}

// Collectors returns the Prometheus metrics about deliveries.
func (d *Dispatcher) Collectors() []prometheus.Collector { return d.metrics.collectors() }

// Run delivers messages until the context ends. It then stops claiming deliveries and returns once all
// attempts in flight have ended and their results are recorded.
func (d *Dispatcher) Run(ctx context.Context) {
	defer d.sender.close()
	var running sync.WaitGroup
	defer running.Wait()
	workers := map[int64]*worker{}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		hooks, err := d.listWebhooks(context.WithoutCancel(ctx))
		if err != nil {
			d.report(err)
		} else {
			d.updateWorkers(ctx, workers, hooks, &running)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// listWebhooks returns all webhooks. It includes disabled webhooks, because a test message may have been
// requested for one.
func (d *Dispatcher) listWebhooks(ctx context.Context) (all []shop.Webhook, err error) {
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

// updateWorkers starts a worker for each new webhook and stops the workers for deleted webhooks. It passes
// the current version of every other webhook to its worker.
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
