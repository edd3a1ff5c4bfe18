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

	"animalstore/client"
	"animalstore/internal/programtest"
)

// follower follows the event stream over connections that break. It is also restarted from time to time and
// then continues after the last event that it received.
type follower struct {
	s      *soak
	api    *client.Client
	http   *http.Client
	starts int

	mu   sync.Mutex
	last string
	seen []string // a description of each event
}

func newFollower(s *soak) *follower {
	f := &follower{s: s, last: "0", http: &http.Client{Transport: &http.Transport{}, Timeout: programtest.WaitTimeout}}
	f.api = s.newClient(s.streamProxy.url(), f.http)
	return f
}

// describe returns the ID of an event and a hash of its content.
func describe(e client.Event) string {
	sum := fnv.New64a()
	fmt.Fprint(sum, e.Type, e.Subject, e.Source, e.Actor, e.Time.UnixMicro(), string(e.Data.Current), string(e.Data.Previous))
	return fmt.Sprintf("%s %x", e.ID, sum.Sum64())
}

// run receives events until the context ends.
func (f *follower) run(ctx context.Context) {
	defer f.http.CloseIdleConnections()
	for ctx.Err() == nil {
		f.starts++
		life, end := context.WithTimeout(ctx, randomTime(200, 4200))
		for event, err := range f.api.Follow(life, f.last, client.EventFilter{}) {
			if err != nil {
				if e, responded := errors.AsType[*client.Error](err); responded && e.Status != http.StatusServiceUnavailable {
					f.s.problem("a follower got %v, want no error but 503", err)
				}
				break
			}
			f.mu.Lock()
			f.seen, f.last = append(f.seen, describe(event)), event.ID
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

// flakyReceiver is a webhook endpoint that rejects some messages on the first attempt. It rejects each message
// only once, because the sender makes its third attempt minutes later.
type flakyReceiver struct {
	s                *soak
	secret           string
	mu               sync.Mutex
	failed, accepted map[string]bool // by event ID
}

// webhookTypes lists the event types to which the webhook subscribes.
var webhookTypes = []client.EventType{
	client.EventOrderPlaced, client.EventOrderApproved, client.EventOrderDelivered, client.EventOrderCancelled, client.EventOrderExpired,
}

func newFlakyReceiver(s *soak) *flakyReceiver {
	r := &flakyReceiver{s: s, failed: map[string]bool{}, accepted: map[string]bool{}}
	server := httptest.NewServer(r)
	s.t.Cleanup(server.Close)
	hook, err := s.newClient(s.nodes[0].URL, s.nodes[0].Client).CreateWebhook(s.t.Context(), client.NewWebhook{URL: server.URL, Types: webhookTypes})
	if err != nil {
		s.t.Fatal(err)
	}
	r.secret = hook.Secret // no order exists, so no message has been sent
	return r
}

func (r *flakyReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender was killed and will send the message again
	}
	event, err := client.VerifyWebhook(request.Header, body, r.secret)
	if err != nil || request.Header.Get("webhook-id") != "evt_"+event.ID || !slices.Contains(webhookTypes, event.Type) {
		r.s.problem("a webhook message is invalid or was not subscribed to: %v\n%s", err, body)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.failed[event.ID] && rand.IntN(8) == 0 {
		r.failed[event.ID] = true
		panic(http.ErrAbortHandler) // close the connection without sending a response
	}
	r.accepted[event.ID] = true
}

// hasAll reports whether the receiver has accepted every event to which the webhook subscribes.
func (r *flakyReceiver) hasAll(events []client.Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(events, func(e client.Event) bool { return slices.Contains(webhookTypes, e.Type) && !r.accepted[e.ID] })
}
