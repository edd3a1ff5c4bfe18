package webhook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/leaktest"
	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// must returns a function that takes t and returns value. If err is not nil, that function ends the test.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// fixture is a shop on a real store.
type fixture struct {
	*shoptest.Shop
	t *testing.T
}

// newFixture returns a fixture with a SQLite store.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{shoptest.Open(t, shoptest.Options{}), t}
}

// dispatch starts another node with a dispatcher. It returns the dispatcher and a function that stops the node.
func (o *fixture) dispatch(allowPrivate bool) (*Dispatcher, func()) {
	o.t.Helper()
	node := must(o.Node(o.t.Context(), shop.Options{}))(o.t)
	fail := func(err error) { o.t.Error(err) }
	d := New(Config{Service: node, Version: "v1", AllowPrivate: allowPrivate, Report: fail})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { node.RunJobs(ctx, fail) })
	running.Go(func() { d.Run(ctx) })
	stop := sync.OnceFunc(func() { cancel(); running.Wait() })
	o.t.Cleanup(stop)
	return d, stop
}

// subscribe creates a webhook for pet.created events.
func (o *fixture) subscribe(url string) shop.Webhook {
	o.t.Helper()
	return must(o.CreateWebhook(o.t.Context(), shop.Caller{}, shop.NewWebhook{URL: url, Types: []shop.EventType{shop.PetCreated}}))(o.t).Webhook
}

// createPets creates the given number of pets, each of which causes a pet.created event.
func (o *fixture) createPets(animals int) {
	o.t.Helper()
	for range animals {
		o.AddPet(o.t, "Rex", 1, "")
	}
}

// deliveries lists the deliveries to a webhook that have the given status. An empty status selects all
// deliveries.
func (o *fixture) deliveries(hook shop.Webhook, status shop.DeliveryStatus) []shop.Delivery {
	o.t.Helper()
	list := shop.DeliveryList{WebhookID: hook.ID, Status: status, PageRequest: shop.PageRequest{Limit: 1000}}
	return must(o.ListDeliveries(o.t.Context(), list))(o.t).Items
}

// awaitSucceeded waits until n deliveries to a webhook have succeeded.
func (o *fixture) awaitSucceeded(hook shop.Webhook, n int) {
	o.t.Helper()
	programtest.Await(o.t, "deliveries", func() bool { return len(o.deliveries(hook, shop.DeliverySucceeded)) == n })
}

func (r *receiver) wantMessages(t *testing.T, want int) {
	t.Helper()
	if messages, times := r.received(); messages != want || times != want {
		t.Errorf("%d messages were sent %d times, want %d", messages, times, want)
	}
}

// counters returns the values of the dispatcher's metrics, by outcome or name.
func counters(t *testing.T, d *Dispatcher) map[string]float64 {
	t.Helper()
	registry, counted := prometheus.NewRegistry(), map[string]float64{}
	registry.MustRegister(d.Collectors()...)
	for _, family := range must(registry.Gather())(t) {
		for _, metric := range family.GetMetric() {
			name := strings.TrimPrefix(family.GetName(), "animalstore_webhook_")
			for _, label := range metric.GetLabel() {
				name = label.GetValue()
			}
			counted[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	return counted
}

// Receivers that are unreachable, hang or fail do not delay deliveries to other receivers.
func TestFailingEndpointsDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	release := make(chan struct{})
	hanging := newReceiver(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	dead := newReceiver(t, nil)
	dead.Close()
	failing := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	var hooks []shop.Webhook
	for _, url := range []string{hanging.URL, dead.URL, failing.URL, newReceiver(t, nil).URL, newReceiver(t, nil).URL} {
		hooks = append(hooks, o.subscribe(url))
	}
	d, stop := o.dispatch(true)
	const events = 60
	o.createPets(events)
	o.awaitSucceeded(hooks[3], events)
	o.awaitSucceeded(hooks[4], events)
	// The webhooks that failed are down after ten attempts.
	programtest.Await(t, "the failures to be recorded", func() bool {
		return len(o.deliveries(hooks[1], "")) >= 10 && len(o.deliveries(hooks[2], "")) >= 10
	})
	for _, d := range o.deliveries(hooks[1], "") {
		if first := d.Attempts[0]; d.Status != shop.DeliveryPending || first.Error != "connection refused" || first.Status != 0 {
			t.Errorf("%+v", d)
		}
	}
	close(release)
	stop()
	counted := counters(t, d)
	running, known := counted["attempts_in_flight"]
	if counted["succeeded"] < 2*events || counted["retry"] < 20 || counted["lost"] != 0 || running != 0 || !known {
		t.Errorf("unexpected metrics: %v", counted)
	}
}

// A node that is stopping starts no new attempts, waits for the attempts in flight and records their results.
func TestStopFinishesAttemptsInFlight(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	release, arrived := make(chan struct{}), make(chan struct{}, 100)
	slow := newReceiver(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	})
	hook := o.subscribe(slow.URL)
	o.createPets(3 * shop.MaxBatch) // before the node starts, so that its first batch is full
	_, stop := o.dispatch(true)
	for range shop.MaxBatch {
		<-arrived
	}
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	select {
	case <-stopped:
		t.Error("the dispatcher returned while attempts were in flight")
	case <-time.After(100 * time.Millisecond): // long enough to notice if the dispatcher returned too early
	}
	close(release)
	<-stopped
	slow.wantMessages(t, shop.MaxBatch)
	if n, all := len(o.deliveries(hook, shop.DeliverySucceeded)), len(o.deliveries(hook, "")); n != shop.MaxBatch || all != n {
		t.Errorf("%d of %d deliveries succeeded, want %d", n, all, shop.MaxBatch)
	}
	o.dispatch(true) // another node, or the same one after a restart, continues
	o.awaitSucceeded(hook, 3*shop.MaxBatch)
	slow.wantMessages(t, 3*shop.MaxBatch)
}

// A webhook can be created, tested, disabled, enabled and deleted while the dispatcher is running.
func TestWebhookChangesTakeEffectWhileRunning(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	server := newReceiver(t, nil)
	o.dispatch(true)
	o.createPets(1) // this event is not delivered, because the webhook does not exist yet
	hook := o.subscribe(server.URL)
	sent := func(want int) {
		t.Helper()
		enough := func() bool { messages, _ := server.received(); return messages >= want }
		programtest.Await(t, fmt.Sprint(want, " messages"), enough)
		server.wantMessages(t, want)
	}
	o.createPets(2)
	sent(2)
	must(o.UpdateWebhook(t.Context(), shop.Caller{}, hook.ID, shop.WebhookChange{Enabled: new(false)}, nil))(t)
	o.createPets(2)
	must(o.TestWebhook(t.Context(), shop.Caller{}, hook.ID))(t)
	sent(3)
	must(o.UpdateWebhook(t.Context(), shop.Caller{}, hook.ID, shop.WebhookChange{Enabled: new(true)}, nil))(t)
	sent(5)
	if err := o.DeleteWebhook(t.Context(), shop.Caller{}, hook.ID, nil); err != nil {
		t.Fatal(err)
	}
	next := o.subscribe(newReceiver(t, nil).URL)
	o.createPets(1)
	o.awaitSucceeded(next, 1)
	sent(5)
}

// By default, nothing is sent to private addresses, and the delivery log states the reason.
func TestPrivateAddressIsRefused(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	server := newReceiver(t, nil)
	hook := o.subscribe(server.URL)
	o.dispatch(false)
	o.createPets(1)
	programtest.Await(t, "an attempt", func() bool {
		deliveries := o.deliveries(hook, shop.DeliveryPending)
		return len(deliveries) == 1 && len(deliveries[0].Attempts) == 1
	})
	if attempt := o.deliveries(hook, "")[0].Attempts[0]; attempt.Error != requirePublic(netip.MustParseAddr("127.0.0.1")).Error() {
		t.Errorf("%+v", attempt)
	}
	server.wantNoConnection(t)
}

// Messages are not sent if the lease could end before the attempts do. The results of attempts are lost if they cannot
// be recorded before the lease ends.
func TestAttemptsPastTheirLease(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	server := newReceiver(t, nil)
	o.subscribe(server.URL)
	o.createPets(2)
	var reported []error
	d := New(Config{Service: o.Service, Version: "v1", AllowPrivate: true, Report: func(err error) { reported = append(reported, err) }})
	defer d.sender.close()
	batch := must(d.queue.Lease(t.Context(), d.room))(t)[0]
	d.takeRoom(batch, len(batch.Messages))
	d.send(t.Context(), batch, time.Now().Add(-startWithin-time.Second))
	server.wantNoConnection(t)
	d.receive(<-d.sent)
	d.record(t.Context())
	if len(d.unstored) > 0 || d.room.Total != maxInFlight || len(reported) > 0 {
		t.Errorf("the batch was not finished: %+v, %q", d, reported)
	}
	batch = must(d.queue.Lease(t.Context(), d.room))(t)[0] // the same messages are next
	d.takeRoom(batch, len(batch.Messages))
	d.send(t.Context(), batch, time.Now())
	server.wantMessages(t, 2)
	o.Store.Close()
	done := <-d.sent
	done.leaseEnds = time.Now()
	d.receive(done)
	d.record(t.Context())
	if n := counters(t, d)["lost"]; n != 2 || len(reported) != 1 || len(d.unstored) > 0 {
		t.Errorf("%v results were lost, reported: %q", n, reported)
	}
}
