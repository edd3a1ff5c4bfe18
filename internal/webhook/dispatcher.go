// Package webhook sends messages to webhooks. It leases webhooks that have something to send, signs and sends the next
// messages, and records the results. Package shop decides what is sent and when a failed message is retried.
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
	// pollInterval is how often the dispatcher looks for changes of webhooks and for stored deliveries that are due.
	pollInterval = 500 * time.Millisecond
	// batchDelay is how long the dispatcher waits for more events after the first one, so that a burst of events
	// costs only one write.
	batchDelay = 20 * time.Millisecond
	// startWithin is the maximum age of a lease when its messages are sent. The results must be recorded well before the
	// lease ends.
	startWithin = shop.LeaseDuration / 4
	// maxInFlight is the maximum number of messages that one node sends at the same time. It limits the memory and the
	// connections that they need.
	maxInFlight = 256
	// maxFailing is how many of them may be sent to failing webhooks. A message to a receiver that does not respond stays
	// in flight until the timeout. Without this limit, such messages could leave no room for others.
	maxFailing = maxInFlight / 2
	// maxRecorded is roughly the maximum number of results that are stored in one transaction, because other writes may
	// have to wait for it.
	maxRecorded = 32
)

// Config holds the settings for a Dispatcher.
type Config struct {
	Service *shop.Service
	// Version is the program's version, which is sent in the User-Agent header.
	Version string
	// AllowPrivate permits webhooks at addresses that are not public.
	AllowPrivate bool
	// Report is called for each error in the service itself, but not for errors caused by receivers. It may
	// be called repeatedly for the same cause.
	Report func(error)
	// Tracer starts a span for each attempt. If it is nil, there are none.
	Tracer trace.Tracer
}

// Dispatcher sends the messages to all webhooks. Any number of nodes may run a dispatcher on the same store, because
// each node sends only to the webhooks that it has leased.
type Dispatcher struct {
	service  *shop.Service
	sender   *sender
	metrics  *metrics
	report   func(error)
	tracer   trace.Tracer // nil if tracing is off
	queue    *shop.WebhookQueue
	room     shop.Room
	sent     chan sentBatch
	unstored []sentBatch // batches whose results are not stored yet
}

// sentBatch is a batch with the results of its attempts. They can be recorded until the lease ends.
type sentBatch struct {
	shop.FinishedBatch
	leaseEnds time.Time
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
		service: c.Service, sender: sender, metrics: newMetrics(), report: c.Report, tracer: c.Tracer, queue: c.Service.NewWebhookQueue(),
		room: shop.Room{Total: maxInFlight, Failing: maxFailing}, sent: make(chan sentBatch, maxInFlight),
	}
}

// Collectors returns the Prometheus metrics about deliveries.
func (d *Dispatcher) Collectors() []prometheus.Collector { return d.metrics.collectors() }

// Run delivers messages until the context ends. It then leases no more webhooks and returns once all attempts in flight
// have ended and their results are recorded.
func (d *Dispatcher) Run(ctx context.Context) {
	defer d.sender.close()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	store := context.WithoutCancel(ctx)
	stop := ctx.Done()
	for stop != nil || d.room.Total < maxInFlight || len(d.unstored) > 0 {
		var news <-chan struct{}
		if stop != nil {
			if d.queue.HasWebhooks() { // without webhooks, the feed need not read the events
				news = d.service.EventSignal() // obtained before the feed is read, so that no event is missed
			}
			d.sendNext(store)
		}
		select {
		case <-news:
			pause(ctx, batchDelay)
		case <-ticker.C:
			if err := d.queue.Refresh(store); err != nil {
				d.report(err)
			}
			d.metrics.behind.Set(float64(d.queue.Behind()))
		case batch := <-d.sent:
			d.receive(batch)
		case <-stop:
			stop = nil
		}
		d.record(store)
	}
}

// sendNext leases as many webhooks as there is room for and starts to send their next messages.
func (d *Dispatcher) sendNext(ctx context.Context) {
	leasedAt := time.Now() // before the database grants the leases, so that no lease seems younger than it is
	batches, err := d.queue.Lease(ctx, d.room)
	if err != nil {
		d.report(err)
	}
	for _, batch := range batches {
		d.takeRoom(batch, len(batch.Messages))
		go d.send(ctx, batch, leasedAt)
	}
}

func (d *Dispatcher) takeRoom(batch shop.Batch, messages int) {
	d.room.Total -= messages
	if batch.Failing {
		d.room.Failing -= messages
	}
}

// send sends the messages of a batch at the same time. It sends none if the lease could end before the attempts do,
// because another node would then send the same messages.
func (d *Dispatcher) send(ctx context.Context, batch shop.Batch, leasedAt time.Time) {
	done := sentBatch{shop.FinishedBatch{Batch: batch}, leasedAt.Add(shop.LeaseDuration)}
	if time.Since(leasedAt) <= startWithin {
		done.Results = make([]shop.AttemptResult, len(batch.Messages))
		var attempts sync.WaitGroup
		for i, message := range batch.Messages {
			attempts.Go(func() { done.Results[i] = d.attempt(ctx, message) })
		}
		attempts.Wait()
	}
	d.sent <- done
}

func (d *Dispatcher) attempt(ctx context.Context, message shop.Message) shop.AttemptResult {
	d.metrics.inFlight.Inc()
	defer d.metrics.inFlight.Dec()
	ctx, span := d.startSpan(ctx, message)
	attempt, after := d.sender.send(ctx, message)
	endSpan(span, attempt)
	d.metrics.duration.Observe(attempt.Duration.Seconds())
	return shop.AttemptResult{Attempt: attempt, RetryAfter: after}
}

// receive takes a batch that has been sent, and all others that are ready, so that their results are stored together.
func (d *Dispatcher) receive(batch sentBatch) {
	for more := true; more; {
		d.takeRoom(batch.Batch, -len(batch.Messages))
		d.unstored = append(d.unstored, batch)
		select {
		case batch = <-d.sent:
		default:
			more = false
		}
	}
}

// record stores the results of batches that have been sent. If that fails, it keeps them for the next call until their
// leases end. A result that is not stored by then is lost, and the message is sent again.
func (d *Dispatcher) record(ctx context.Context) {
	for len(d.unstored) > 0 {
		var part []shop.FinishedBatch
		for results := 0; len(part) < len(d.unstored) && results < maxRecorded; {
			part = append(part, d.unstored[len(part)].FinishedBatch)
			results += len(part[len(part)-1].Results)
		}
		outcomes, err := d.queue.Finish(ctx, part...)
		if err != nil {
			d.report(err)
			d.dropEnded()
			return
		}
		for _, outcome := range outcomes {
			d.metrics.count(outcome)
		}
		d.unstored = d.unstored[len(part):]
	}
}

// dropEnded drops the results of batches whose lease has ended.
func (d *Dispatcher) dropEnded() {
	var kept []sentBatch
	for _, batch := range d.unstored {
		if time.Now().Before(batch.leaseEnds) {
			kept = append(kept, batch)
			continue
		}
		for range batch.Results {
			d.metrics.count(shop.OutcomeLost)
		}
		d.queue.Abandon(batch.FinishedBatch)
	}
	d.unstored = kept
}

// pause waits for the given time or until the context ends.
func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}
