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
)

// receiver is what a partner runs to be told of events. It checks every message with the official library.
type receiver struct {
	*httptest.Server
	t  *testing.T
	id int64 // of its webhook

	mu         sync.Mutex
	secrets    []string // with each of which a message must be signed
	bodies     map[string]string
	deliveries map[string]int // how often each message came
	total      int
	onMessage  func(total int) // is called for each, before it is answered
}

// newReceiver starts a receiver that nobody tells of anything yet.
func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, bodies: map[string]string{}, deliveries: map[string]int{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// subscribe makes the webhook of the receiver; more are members of the request beside the address.
func (r *receiver) subscribe(p *program, more ...string) {
	r.t.Helper()
	a := p.send("POST", "/v1/webhooks", adminKey, fmt.Sprintf(`{"url":%q%s}`, r.URL+"/hook", strings.Join(append([]string{""}, more...), ",")))
	expectStatus(r.t, a, http.StatusCreated)
	made := decode[struct {
		ID     int64
		Secret string
	}](r.t, a.body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id, r.secrets = made.ID, []string{made.Secret}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender was killed: it comes again
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

// check returns what is wrong with a message.
func (r *receiver) check(request *http.Request, id, body string) string {
	if request.Method != "POST" || request.URL.Path != "/hook" || request.Header.Get("Content-Type") != "application/cloudevents+json; charset=utf-8" ||
		!strings.HasPrefix(request.UserAgent(), "animalstore/") {
		return request.Method + " " + request.URL.Path
	}
	if before := r.bodies[id]; before != "" && before != body {
		return "it was another message before: " + before
	}
	if n := len(strings.Fields(request.Header.Get("webhook-signature"))); n != len(r.secrets) {
		return fmt.Sprintf("it has %d signatures, want %d", n, len(r.secrets))
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

// has tells how often a message came.
func (r *receiver) has(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deliveries[id]
}

// then sets what happens when a message arrives.
func (r *receiver) then(onMessage func(total int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total, r.onMessage = 0, onMessage
}

// checkAll waits until every event has come that happened since the webhook was made, each as the feed has it, and expects
// nothing else. It returns how many there are, and how often they came.
func (r *receiver) checkAll(p *program) (events, deliveries int) {
	r.t.Helper()
	since := false
	for _, event := range p.feed() {
		header := decode[struct{ ID, Type, Subject string }](r.t, event)
		since = since || header.Type == "webhook.created" && header.Subject == fmt.Sprint("webhooks/", r.id)
		if !since {
			continue
		}
		events++
		id := "evt_" + header.ID
		await(r.t, id, func() bool { return r.has(id) > 0 })
		r.mu.Lock()
		if r.bodies[id] != event {
			r.t.Errorf("the feed has   %s\nand was told as %s", event, r.bodies[id])
		}
		deliveries += r.deliveries[id]
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.deliveries) != events {
		r.t.Errorf("%d messages came of %d events", len(r.deliveries), events)
	}
	return events, deliveries
}

// awaitNoted waits until the log of deliveries has nothing left to send.
func (r *receiver) awaitNoted(p *program) {
	r.t.Helper()
	await(r.t, "the outcomes", func() bool {
		return p.get(fmt.Sprintf("/v1/webhooks/%d/deliveries?status=pending", r.id)).body == "[]\n"
	})
}
