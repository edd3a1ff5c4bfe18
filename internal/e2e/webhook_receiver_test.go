package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"animalstore/internal/programtest"
)

// receiver is a partner's webhook endpoint. It verifies every message with the official Standard Webhooks
// library.
type receiver struct {
	*httptest.Server
	t  *testing.T
	id int64 // the webhook's ID

	mu         sync.Mutex
	secrets    []string // every message must be signed with all of these secrets
	bodies     map[string]string
	deliveries map[string]int // how often each message arrived, by webhook-id
	total      int
	onMessage  func(total int) // called for each message before the response is sent
}

// newReceiver starts a receiver for which no webhook exists yet.
func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, bodies: map[string]string{}, deliveries: map[string]int{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// subscribe creates a webhook for the receiver. The strings in more are additional members for the JSON
// request body.
func (r *receiver) subscribe(p *programtest.Program, more ...string) {
	r.t.Helper()
	a := p.Send("POST", "/v1/webhooks", programtest.AdminKey, fmt.Sprintf(`{"url":%q%s}`, r.URL+"/hook", strings.Join(append([]string{""}, more...), ",")))
	programtest.ExpectStatus(r.t, a, http.StatusCreated)
	made := programtest.Decode[struct {
		ID     int64
		Secret string
	}](r.t, a.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id, r.secrets = made.ID, []string{made.Secret}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender was killed and will send the message again
	}
	id := request.Header.Get("webhook-id")
	r.mu.Lock()
	if problem := r.check(request, id, string(body)); problem != "" {
		r.t.Errorf("%s: %s\n%v\n%s", id, problem, request.Header, body)
	}
	r.bodies[id] = string(body)
	r.deliveries[id]++
	r.total++
	total, onMessage := r.total, r.onMessage
	r.mu.Unlock()
	if onMessage != nil {
		onMessage(total)
	}
}

// check returns a description of what is wrong with a message, or "" if the message is correct.
func (r *receiver) check(request *http.Request, id, body string) string {
	if request.Method != "POST" || request.URL.Path != "/hook" || request.Header.Get("Content-Type") != "application/cloudevents+json; charset=utf-8" ||
		!strings.HasPrefix(request.UserAgent(), "animalstore/") {
		return "unexpected " + request.Method + " " + request.URL.Path + ", Content-Type or User-Agent"
	}
	if before := r.bodies[id]; before != "" && before != body {
		return "an earlier message with this webhook-id had another body: " + before
	}
	if n := len(strings.Fields(request.Header.Get("webhook-signature"))); n != len(r.secrets) {
		return fmt.Sprintf("got %d signatures, want %d", n, len(r.secrets))
	}
	for _, secret := range r.secrets {
		verifier, err := standardwebhooks.NewWebhook(secret)
		if err == nil {
			err = verifier.Verify([]byte(body), request.Header)
		}
		if err != nil {
			return err.Error()
		}
	}
	return ""
}

// has returns how often a message arrived.
func (r *receiver) has(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deliveries[id]
}

// then sets the function that is called for each message and resets the total number of messages to 0.
func (r *receiver) then(onMessage func(total int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total, r.onMessage = 0, onMessage
}

// checkAll waits until every event since the webhook's creation has arrived. Each body must be the same as in
// the feed, and there must be no other messages. It returns the numbers of events and deliveries.
func (r *receiver) checkAll(p *programtest.Program) (events, deliveries int) {
	r.t.Helper()
	since := false
	for _, event := range p.Feed() {
		header := programtest.Decode[struct{ ID, Type, Subject string }](r.t, event)
		since = since || header.Type == "webhook.created" && header.Subject == fmt.Sprint("webhooks/", r.id)
		if !since {
			continue
		}
		events++
		id := "evt_" + header.ID
		programtest.Await(r.t, id, func() bool { return r.has(id) > 0 })
		r.mu.Lock()
		if r.bodies[id] != event {
			r.t.Errorf("message %s: got %s\nwant %s like the feed", id, r.bodies[id], event)
		}
		deliveries += r.deliveries[id]
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.deliveries) != events {
		r.t.Errorf("%d different messages arrived, want %d like the events", len(r.deliveries), events)
	}
	return events, deliveries
}

// awaitDeliveries waits until no delivery is pending.
func (r *receiver) awaitDeliveries(p *programtest.Program) {
	r.t.Helper()
	programtest.Await(r.t, "the results of all deliveries", func() bool {
		return p.Get(fmt.Sprintf("/v1/webhooks/%d/deliveries?status=pending", r.id)).Body == "[]\n"
	})
}
