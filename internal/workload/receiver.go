package workload

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// Receiver is the endpoint of a webhook. It records the messages that it accepts.
type Receiver struct {
	l            *Load
	types        []client.EventType
	RefusesFirst bool // if true, refuse the first attempt to deliver each message

	mu       sync.Mutex
	hook     client.Webhook
	attempts map[string]int // the number of attempts to deliver each message
	accepted []message
}

// message is a message that a receiver accepted.
type message struct {
	id    string // the webhook-id header
	event client.Event
}

// NewReceiver starts a receiver and creates its webhook. It must be called before Start, because the receiver
// expects all events of these types. The nodes must allow webhooks with private addresses.
func (l *Load) NewReceiver(types ...client.EventType) *Receiver {
	l.t.Helper()
	r := &Receiver{l: l, types: types, attempts: map[string]int{}}
	server := httptest.NewServer(r)
	l.t.Cleanup(server.Close)
	hook, err := r.api().CreateWebhook(l.t.Context(), client.NewWebhook{URL: server.URL, Types: types})
	if err != nil {
		l.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hook = hook
	return r
}

func (r *Receiver) api() *client.Client { return r.l.newClient(r.l.nodes[0].URL, r.l.nodes[0].Client) }

// Enable enables or disables the webhook.
func (r *Receiver) Enable(enabled bool) {
	r.l.t.Helper()
	if _, err := r.api().UpdateWebhook(r.l.t.Context(), r.hook.ID, client.WebhookUpdate{Enabled: &enabled}); err != nil {
		r.l.t.Fatal(err)
	}
}

func (r *Receiver) ServeHTTP(w http.ResponseWriter, sent *http.Request) {
	body, err := io.ReadAll(sent.Body)
	if err != nil {
		return // the sender has disconnected and will send the message again
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	event, err := client.VerifyWebhook(sent.Header, body, r.hook.Secret)
	if err != nil {
		r.l.Problem("webhook %d received a bad message: %v", r.hook.ID, err)
	}
	id := sent.Header.Get("Webhook-Id")
	r.attempts[id]++
	if r.RefusesFirst && r.attempts[id] == 1 {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	r.accepted = append(r.accepted, message{id, event})
}

// Check waits until everything is delivered. It then compares the accepted messages and the log of deliveries with
// the events in the feed.
func (r *Receiver) Check() {
	t, ctx, c := r.l.t, r.l.t.Context(), r.api()
	t.Helper()
	events := collect(t, c.Events(ctx, client.EventQuery{EventFilter: client.EventFilter{Types: r.types}, Limit: 100}))
	programtest.Await(t, fmt.Sprintf("webhook %d to receive %d events", r.hook.ID, len(events)), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.accepted) >= len(events)
	})
	var deliveries []client.Delivery
	programtest.Await(t, "the last deliveries to be recorded", func() bool {
		deliveries = collect(t, c.Deliveries(ctx, r.hook.ID, client.DeliveryQuery{Limit: 100}))
		pending := func(d client.Delivery) bool { return d.Status == client.DeliveryPending }
		return len(deliveries) >= len(events) && !slices.ContainsFunc(deliveries, pending)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, problem := range checkMessages(events, r.accepted, deliveries) {
		r.l.Problem("webhook %d: %s", r.hook.ID, problem)
	}
	t.Logf("webhook %d: %d events, %d messages accepted, %d deliveries", r.hook.ID, len(events), len(r.accepted), len(deliveries))
}

// checkMessages compares the accepted messages and the deliveries of a webhook with the events that the webhook must
// receive, and returns the problems that it finds. A message may arrive more than once, but an event has only one
// message and one delivery.
func checkMessages(events []client.Event, accepted []message, deliveries []client.Delivery) (problems []string) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	wanted, messages := map[string]string{}, map[string]string{}
	for _, e := range events {
		wanted[e.ID] = describe(e)
	}
	for _, m := range accepted {
		if want, got := wanted[m.event.ID], describe(m.event); got != want {
			problem("message %s contains %q, want %q", m.id, got, want)
		}
		if first, again := messages[m.event.ID]; again && first != m.id {
			problem("event %s was sent as message %s and as message %s", m.event.ID, first, m.id)
		}
		messages[m.event.ID] = m.id
	}
	delivered := map[string]bool{}
	for _, d := range deliveries {
		if d.Status != client.DeliverySucceeded || d.MessageID != messages[d.EventID] {
			problem("delivery %d of event %s as message %s is %s; the receiver got message %s", d.ID, d.EventID, d.MessageID, d.Status, messages[d.EventID])
		}
		if delivered[d.EventID] {
			problem("event %s has two deliveries", d.EventID)
		}
		delivered[d.EventID] = true
	}
	for _, e := range events {
		if messages[e.ID] == "" || !delivered[e.ID] {
			problem("event %s was not sent, or has no delivery", e.ID)
		}
	}
	return problems
}
