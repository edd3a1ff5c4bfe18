package webhook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// waitLimit is the longest time that a test waits for a condition. It is reached only if the test hangs.
const waitLimit = 5 * time.Minute

// fixture is a shop on a real SQLite store.
type fixture struct {
	*shoptest.Shop
	t *testing.T
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{shoptest.Open(t, shoptest.Options{}), t}
}

// dispatch starts a dispatcher as a second node would. It returns the dispatcher and a function that stops
// it.
func (o *fixture) dispatch(allowPrivate bool) (*Dispatcher, func()) {
	o.t.Helper()
	node, err := o.Node(o.t.Context(), shop.Options{})
	if err != nil {
		o.t.Fatal(err)
	}
	fail := func(err error) { o.t.Error(err) }
	d := New(Config{Service: node, Version: "v1", AllowPrivate: allowPrivate, Report: fail})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { node.RunJobs(ctx, fail) })
	running.Go(func() { d.Run(ctx) })
	stop := sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	o.t.Cleanup(stop)
	return d, stop
}

// subscribe creates a webhook for pet.created events.
func (o *fixture) subscribe(url string) shop.Webhook {
	o.t.Helper()
	hook, err := o.CreateWebhook(o.t.Context(), shop.NewWebhook{URL: url, Types: []shop.EventType{shop.PetCreated}})
	if err != nil {
		o.t.Fatal(err)
	}
	return hook.Webhook
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
	page, err := o.ListDeliveries(o.t.Context(), shop.DeliveryList{WebhookID: hook.ID, Status: status, PageRequest: shop.PageRequest{Limit: 1000}})
	if err != nil {
		o.t.Fatal(err)
	}
	return page.Items
}

func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitLimit); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s", waitLimit, what)
		}
	}
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
	healthy, other := newReceiver(t, nil), newReceiver(t, nil)
	var hooks []shop.Webhook
	for _, url := range []string{hanging.URL, dead.URL, failing.URL, healthy.URL, other.URL} {
		hooks = append(hooks, o.subscribe(url))
	}
	d, stop := o.dispatch(true)
	const events = 60
	o.createPets(events)
	for _, r := range []*receiver{healthy, other} {
		await(t, "all messages", func() bool { messages, _ := r.received(); return messages == events })
	}
	await(t, "the failures to be recorded", func() bool {
		return len(o.deliveries(hooks[1], "")) == events && !slices.ContainsFunc(o.deliveries(hooks[1], ""), func(d shop.Delivery) bool { return len(d.Attempts) == 0 })
	})
	for _, delivery := range o.deliveries(hooks[1], "") {
		if first := delivery.Attempts[0]; delivery.Status != shop.DeliveryPending || first.Error != "connection refused" || first.Status != 0 {
			t.Errorf("%+v", delivery)
		}
	}
	close(release)
	stop()
	for _, hook := range hooks[3:] {
		if delivered := o.deliveries(hook, shop.DeliverySucceeded); len(delivered) != events {
			t.Errorf("%d deliveries succeeded, want %d", len(delivered), events)
		}
	}
	counted := metricValues(t, d)
	if counted["succeeded"] < 2*events || counted["retry"] < 2*events || counted["lost"] != 0 || counted["in_flight"] != 0 {
		t.Errorf("unexpected metrics: %v", counted)
	}
}

// metricValues returns a dispatcher's number of attempts by outcome. The key "in_flight" holds the number of
// attempts in flight.
func metricValues(t *testing.T, d *Dispatcher) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(d.Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			switch family.GetName() {
			case "animalstore_webhook_deliveries_total":
				values[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
			case "animalstore_webhook_attempts_in_flight":
				values["in_flight"] = metric.GetGauge().GetValue()
			}
		}
	}
	return values
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
	_, stop := o.dispatch(true)
	o.createPets(3 * maxInFlight)
	for range maxInFlight {
		<-arrived
	}
	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	select {
	case <-stopped:
		t.Error("the dispatcher returned while attempts were in flight")
	case <-time.After(100 * time.Millisecond): // long enough to notice if the dispatcher returned too early
	}
	close(release)
	<-stopped
	if _, times := slow.received(); times != maxInFlight {
		t.Errorf("%d messages were sent, want %d", times, maxInFlight)
	}
	for _, delivery := range o.deliveries(hook, "") {
		if claimed := !delivery.ClaimedUntil.IsZero(); claimed || delivery.Status == shop.DeliverySucceeded != (len(delivery.Attempts) == 1) {
			t.Errorf("%+v", delivery)
		}
	}
	if n := len(o.deliveries(hook, shop.DeliverySucceeded)); n != maxInFlight {
		t.Errorf("%d deliveries succeeded, want %d", n, maxInFlight)
	}
	o.dispatch(true) // a restarted or different node continues
	await(t, "the remaining deliveries", func() bool { return len(o.deliveries(hook, shop.DeliverySucceeded)) == 3*maxInFlight })
	if messages, times := slow.received(); messages != 3*maxInFlight || times != 3*maxInFlight {
		t.Errorf("%d messages were sent %d times", messages, times)
	}
}

// Several nodes share the work, and exactly one of them sends each message.
func TestNodesSendEachMessageOnce(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	server := newReceiver(t, nil)
	hook := o.subscribe(server.URL)
	for range 3 {
		o.dispatch(true)
	}
	const events = 200
	o.createPets(events)
	await(t, "all messages", func() bool { messages, _ := server.received(); return messages == events })
	await(t, "all results to be recorded", func() bool { return len(o.deliveries(hook, shop.DeliverySucceeded)) == events })
	if messages, times := server.received(); messages != events || times != events {
		t.Errorf("%d messages were sent %d times", messages, times)
	}
}

// A webhook can be created, tested, disabled, enabled and deleted while the dispatcher runs.
func TestWebhookChangesTakeEffectWhileRunning(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	server := newReceiver(t, nil)
	o.dispatch(true)
	o.createPets(1) // this event is not delivered, because the webhook does not exist yet
	hook := o.subscribe(server.URL)
	sent := func(want int) {
		t.Helper()
		await(t, fmt.Sprint(want, " messages"), func() bool { messages, _ := server.received(); return messages >= want })
		if messages, times := server.received(); messages != want || times != want {
			t.Errorf("%d messages were sent %d times, want %d", messages, times, want)
		}
	}
	enable := func(enabled bool) {
		t.Helper()
		if _, err := o.UpdateWebhook(t.Context(), hook.ID, shop.WebhookChange{Enabled: &enabled}, nil); err != nil {
			t.Fatal(err)
		}
	}
	o.createPets(2)
	sent(2)
	enable(false)
	o.createPets(2)
	if _, err := o.TestWebhook(t.Context(), hook.ID); err != nil {
		t.Fatal(err)
	}
	sent(3)
	enable(true)
	sent(5)
	if err := o.DeleteWebhook(t.Context(), hook.ID, nil); err != nil {
		t.Fatal(err)
	}
	marker := newReceiver(t, nil)
	o.subscribe(marker.URL)
	o.createPets(1)
	await(t, "the next webhook", func() bool { messages, _ := marker.received(); return messages == 1 })
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
	await(t, "an attempt", func() bool {
		deliveries := o.deliveries(hook, shop.DeliveryPending)
		return len(deliveries) == 1 && len(deliveries[0].Attempts) == 1
	})
	if attempt := o.deliveries(hook, "")[0].Attempts[0]; attempt.Error != requirePublic(netip.MustParseAddr("127.0.0.1")).Error() {
		t.Errorf("%+v", attempt)
	}
	if n := server.connections.accepted(); n != 0 {
		t.Errorf("there were %d connections, want none", n)
	}
}

// A worker may skip an event because it has not yet seen the webhook's new event types. When it sees the new
// types, it goes back and delivers the event.
func TestWorkerRereadsEventsWhenTypesChange(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	server := newReceiver(t, nil)
	hook := o.subscribe(server.URL)
	d := New(Config{Service: o.Service, Version: "v1", AllowPrivate: true, Report: func(err error) { t.Error(err) }})
	defer d.sender.close()
	c := newWorker(d, hook)
	types := []shop.EventType{shop.CategoryCreated}
	changed, err := o.UpdateWebhook(t.Context(), hook.ID, shop.WebhookChange{Types: &types}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.CreateCategory(t.Context(), "dogs"); err != nil {
		t.Fatal(err)
	}
	for _, known := range []shop.Webhook{hook, changed} {
		if _, err := c.poll(t.Context(), known); err != nil {
			t.Fatal(err)
		}
		c.sending.Wait()
	}
	if messages, _ := server.received(); messages != 1 {
		t.Errorf("received %d messages, want 1", messages)
	}
}

// An attempt that could outlast its claim is not started. The result of an attempt is lost if it cannot be
// recorded before the claim ends.
func TestAttemptsPastTheirClaim(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	server := newReceiver(t, nil)
	hook := o.subscribe(server.URL)
	var reported []error
	d := New(Config{Service: o.Service, Version: "v1", AllowPrivate: true, Report: func(err error) { reported = append(reported, err) }})
	defer d.sender.close()
	c := newWorker(d, hook)
	c.attempt(t.Context(), message(server.URL), time.Now().Add(-startWithin-time.Second))
	if n := server.connections.accepted(); n != 0 {
		t.Errorf("there were %d connections, want none", n)
	}
	o.Store.Close()
	attempt := shop.Attempt{Status: 200}
	if outcome := c.recordAttempt(t.Context(), message(server.URL), attempt, 0, time.Now().Add(-time.Second)); outcome != shop.OutcomeLost || len(reported) != 1 {
		t.Errorf("the outcome is %s, reported: %q", outcome, reported)
	}
	for range 3 {
		if _, err := c.poll(t.Context(), hook); err == nil {
			t.Error("poll succeeded on a closed store")
		}
	}
}
