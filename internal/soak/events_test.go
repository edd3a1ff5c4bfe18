package soak

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// follower follows the event stream over connections that break. It is also restarted from time to time.
type follower struct {
	s    *soak
	id   int
	rng  *rand.Rand
	api  *client.Client
	http *http.Client
	// starts counts how often the follower was started. Each time, it continues after the last event that it
	// received.
	starts int

	mu   sync.Mutex
	last string
	seen eventLog
}

// eventLog is a compact record of a sequence of events.
type eventLog struct {
	ids  []string
	sums []uint64 // a hash of each event's content
}

func (s *eventLog) add(e client.Event) {
	sum := fnv.New64a()
	fmt.Fprint(sum, e.Type, e.Subject, e.Source, e.Actor, e.Time.UnixMicro(), string(e.Data.Current), string(e.Data.Previous))
	s.ids, s.sums = append(s.ids, e.ID), append(s.sums, sum.Sum64())
}

// diff describes the first difference from the wanted sequence. It returns "" if there is no difference.
func (s eventLog) diff(want eventLog) string {
	for i := range max(len(s.ids), len(want.ids)) {
		switch {
		case i >= len(s.ids):
			return fmt.Sprintf("%d events are missing, the first is %s", len(want.ids)-i, want.ids[i])
		case i >= len(want.ids):
			return fmt.Sprintf("%d events are too many, the first is %s", len(s.ids)-i, s.ids[i])
		case s.ids[i] != want.ids[i]:
			return fmt.Sprintf("got event %s, want %s", s.ids[i], want.ids[i])
		case s.sums[i] != want.sums[i]:
			return fmt.Sprintf("event %s has another content", s.ids[i])
		}
	}
	return ""
}

func newFollower(s *soak, id int) *follower {
	f := &follower{s: s, id: id, last: "0", rng: rand.New(rand.NewPCG(s.seed, uint64(1000+id)))}
	f.http = &http.Client{Transport: &http.Transport{}, Timeout: programtest.WaitTimeout}
	api, err := client.New(s.streamProxy.url()+"/v1", programtest.AdminKey, client.WithHTTPClient(f.http))
	if err != nil {
		s.t.Fatal(err)
	}
	f.api = api
	return f
}

// follow receives events until the context ends.
func (f *follower) follow(ctx context.Context) {
	defer f.http.CloseIdleConnections()
	for ctx.Err() == nil {
		f.starts++
		life, end := context.WithTimeout(ctx, time.Duration(200+f.rng.IntN(4000))*time.Millisecond)
		for event, err := range f.api.Follow(life, f.last, client.EventFilter{}) {
			if err != nil {
				if e, responded := errors.AsType[*client.Error](err); responded && e.Status != http.StatusServiceUnavailable {
					f.s.problem("follower %d: got %v, want no error but 503", f.id, err)
				}
				break
			}
			f.mu.Lock()
			f.seen.add(event)
			f.last = event.ID
			f.mu.Unlock()
		}
		end()
	}
}

func (f *follower) lastSeen() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// flakyReceiver is a webhook endpoint that rejects some messages on the first attempt.
type flakyReceiver struct {
	*httptest.Server
	s       *soak
	webhook client.Webhook
	mu      sync.Mutex
	rng     *rand.Rand
	// failed contains the IDs of the messages that were rejected. Each message is rejected only once, because
	// the sender makes its third attempt minutes later.
	failed map[string]bool
	// accepted counts how often each message was accepted, by event ID.
	accepted map[string]int
	attempts int
}

// webhookTypes lists the event types to which the webhook subscribes.
var webhookTypes = []client.EventType{
	client.EventOrderPlaced, client.EventOrderApproved, client.EventOrderDelivered, client.EventOrderCancelled,
	client.EventOrderExpired,
}

func newFlakyReceiver(s *soak, c *client.Client) *flakyReceiver {
	r := &flakyReceiver{s: s, rng: rand.New(rand.NewPCG(s.seed, 2000)), failed: map[string]bool{}, accepted: map[string]int{}}
	r.Server = httptest.NewServer(r)
	s.t.Cleanup(r.Close)
	hook, err := c.CreateWebhook(s.t.Context(), client.NewWebhook{URL: r.URL, Types: webhookTypes})
	if err != nil {
		s.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.webhook = hook
	return r
}

func (r *flakyReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender was killed and will send the message again
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts++
	event, err := client.VerifyWebhook(request.Header, body, r.webhook.Secret)
	id := request.Header.Get("webhook-id")
	switch {
	case err != nil || id != "evt_"+event.ID || !slices.Contains(webhookTypes, event.Type):
		r.s.problem("webhook message %s is invalid or was not subscribed to: %v\n%s", id, err, body)
	case !r.failed[id] && r.rng.IntN(8) == 0:
		r.failed[id] = true
		if r.rng.IntN(2) == 0 {
			panic(http.ErrAbortHandler) // close the connection without sending a response
		}
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	r.accepted[event.ID]++
	w.WriteHeader(http.StatusNoContent)
}

// missing returns the ID of the first event that was not delivered. It returns "" if all events were
// delivered.
func (r *flakyReceiver) missing(events []client.Event) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		if slices.Contains(webhookTypes, e.Type) && r.accepted[e.ID] == 0 {
			return e.ID
		}
	}
	return ""
}
