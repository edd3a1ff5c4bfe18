// Package webhook sends messages to webhooks. It claims deliveries that are due, signs and sends the
// messages, and records the results. Package shop decides which deliveries are due and when a failed delivery
// is retried.
package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"animalstore/internal/shop"
)

const (
	// pollInterval is how often the dispatcher looks for due deliveries if nothing wakes it earlier.
	pollInterval = 500 * time.Millisecond
	// batchDelay is how long the dispatcher waits for more events after the first one, so that a burst of events
	// costs only one write.
	batchDelay = 20 * time.Millisecond
)

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
	// Tracer starts a span for each attempt. If it is nil, there are none.
	Tracer trace.Tracer
}

// Dispatcher sends the deliveries of all webhooks. Its work depends on the number of deliveries that are due, not on
// the number of webhooks. Limits for the attempts in flight ensure that a slow receiver does not delay other
// webhooks. Any number of nodes may run a dispatcher on the same store, because each node sends only the deliveries
// that it has claimed.
type Dispatcher struct {
	service *shop.Service
	sender  *sender
	metrics *metrics
	report  func(error)
	tracer  trace.Tracer // nil if tracing is off
	slots   *slots
	results chan result
	due     chan struct{} // receives a value when there may be due deliveries that can be started now
}

// New returns a dispatcher. Call Run exactly once to start it.
func New(c Config) *Dispatcher {
	check := requirePublic
	if c.AllowPrivate {
		check = nil
	}
	sender := newSender(c.Version, check, nil)
	sender.now = c.Service.Now
	return &Dispatcher{
		c.Service, sender, newMetrics(), c.Report, c.Tracer, newSlots(), make(chan result, maxInFlight), make(chan struct{}, 1),
	}
}

// Collectors returns the Prometheus metrics about deliveries.
func (d *Dispatcher) Collectors() []prometheus.Collector { return d.metrics.collectors() }

// Run delivers messages until the context ends. It then stops claiming deliveries and returns once all
// attempts in flight have ended and their results are recorded.
func (d *Dispatcher) Run(ctx context.Context) {
	defer d.sender.close()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { d.fanOut(ctx) })
	running.Go(func() { d.recordResults(context.WithoutCancel(ctx)) })
	d.deliver(ctx)
	close(d.results)
}

// fanOut turns events into deliveries until the context ends.
func (d *Dispatcher) fanOut(ctx context.Context) {
	fanOut := d.service.NewFanOut()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		var news <-chan struct{}
		if fanOut.HasWebhooks() { // without webhooks, the feed need not read the events
			news = d.service.EventSignal() // obtained before Step, so that no event is missed
		}
		created, more, err := fanOut.Step(context.WithoutCancel(ctx))
		if created > 0 {
			d.wake()
		}
		if err != nil {
			d.report(err)
		} else if more {
			continue
		}
		select {
		case <-news:
			pause(ctx, batchDelay)
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// deliver starts attempts until the context ends, and then waits until all attempts have ended.
func (d *Dispatcher) deliver(ctx context.Context) {
	var attempts sync.WaitGroup
	defer attempts.Wait()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		started, err := d.startDue(context.WithoutCancel(ctx), &attempts)
		if err != nil {
			d.report(err)
		} else if started > 0 {
			continue // more deliveries may be due
		}
		select {
		case <-d.due:
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// wake makes deliver look for due deliveries.
func (d *Dispatcher) wake() {
	select {
	case d.due <- struct{}{}:
	default: // deliver is about to look anyway
	}
}

// pause waits for the given time or until the context ends.
func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}
