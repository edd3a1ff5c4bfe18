package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// flakyTransport is an HTTP transport that cuts off each response body after a random number of bytes.
type flakyTransport struct{ http.RoundTripper }

func (f flakyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := f.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = &flakyBody{response.Body, rand.IntN(40_000)}
	}
	return response, err
}

type flakyBody struct {
	io.ReadCloser
	remaining int
}

func (b *flakyBody) Read(p []byte) (int, error) {
	if b.remaining <= 0 {
		return 0, errors.New("connection lost (simulated)")
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.remaining)])
	b.remaining -= n
	return n, err
}

// TestFollowersReceiveEveryEventOnce writes to all nodes while it kills nodes and breaks the followers'
// connections. Every follower must receive every event exactly once and in order.
func TestFollowersReceiveEveryEventOnce(t *testing.T) {
	t.Parallel()
	const n, followers, kills = 3, 3, 3
	f := newSharedFolder(t)
	nodes := serveNodesUnderLoad(f, n)
	b := newBalancer(t, nodes)
	l := newLoad(t)
	writer := &buyer{Client: b.client(t), load: l}
	l.start(4, func(i, n int) error {
		// An error means that the animal was not acknowledged, so it may or may not exist.
		writer.add(client.NewPet{Name: fmt.Sprintf("%d of %d", n, i), CategoryID: int64(n % 3)})
		return nil
	})
	const lastEvent = "category.created categories/99"
	ctx, cancel := context.WithTimeout(t.Context(), programtest.WaitTimeout)
	defer cancel()
	var feeds [followers][]string
	var following sync.WaitGroup
	for i := range followers {
		c := newClient(t, "http://nodes.example", flakyTransport{b})
		following.Go(func() {
			for event, err := range c.Follow(ctx, "0", client.EventFilter{}) {
				if err != nil {
					t.Errorf("follower %d: %v", i, err)
					return
				}
				feeds[i] = append(feeds[i], event.ID+" "+string(event.Type)+" "+event.Subject)
				if strings.HasSuffix(feeds[i][len(feeds[i])-1], lastEvent) {
					return
				}
			}
		})
	}
	for k := range kills {
		l.await(20)
		victim := k % n
		b.put(victim, nil)
		nodes[victim].Kill()
		nodes[victim] = serveNodesUnderLoad(f, 1)[0]
		b.put(victim, nodes[victim])
	}
	l.stop()
	if _, _, err := writer.PutCategory(ctx, 99, "the last event"); err != nil {
		t.Fatal(err)
	}
	following.Wait()
	var want []string
	for _, text := range nodes[0].Feed() {
		event := programtest.Decode[client.Event](t, text)
		want = append(want, event.ID+" "+string(event.Type)+" "+event.Subject)
	}
	for i, feed := range feeds {
		if diff := cmp.Diff(want, feed); diff != "" {
			t.Errorf("events of follower %d (-want +got):\n%s", i, diff)
		}
	}
	l.check(nodes[0]) // every acknowledged animal must be stored
	announced, stored := announcedAndStored(nodes[0])
	if slices.Sort(announced); !slices.Equal(announced, stored) {
		t.Errorf("animals announced in the feed: got %v, want the stored ones %v", announced, stored)
	}
}

// TestKilledServiceDeliversEveryEvent kills the service several times while it delivers messages. Every event
// must arrive at least once, and each repetition must have the same webhook-id.
func TestKilledServiceDeliversEveryEvent(t *testing.T) {
	t.Parallel()
	const rounds = 4
	f := programtest.NewFolderWithKey(t)
	r := newReceiver(t)
	for round := range rounds {
		p := f.Serve("--webhook-allow-private")
		if round == 0 {
			r.subscribe(p)
		}
		r.then(func(total int) {
			if total >= 3+round { // kill the service before it gets a response to this message
				p.Signal(syscall.SIGKILL)
			}
		})
		for n := 0; ; n++ {
			body := programtest.Pet{Name: fmt.Sprintf("round %d, animal %d", round, n), CategoryID: int64(n)}.JSON()
			a, err := p.Try("POST", "/v1/pets", programtest.AdminKey, body)
			if err != nil {
				break
			}
			programtest.ExpectStatus(t, a, http.StatusCreated)
		}
		p.Kill() // Kill also waits until the process has exited
		// End the lease of the killed process, so that the next process does not wait 30 seconds before it sends the
		// messages again.
		execSQL(f, "animalstore.db", "UPDATE webhooks SET leased_until = NULL")
	}
	r.then(nil)
	p := f.Serve("--webhook-allow-private")
	r.checkAll(p)
	p.Stop()
}

// TestStopFinishesDelivery stops the service during a delivery. The delivery must succeed and must not be
// repeated.
func TestStopFinishesDelivery(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve("--webhook-allow-private")
	r := newReceiver(t)
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	r.then(func(int) {
		arrived <- struct{}{}
		<-release
	})
	r.subscribe(p)
	p.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	programtest.Await(t, "a message", func() bool { return len(arrived) > 0 })
	p.Signal(syscall.SIGTERM)
	p.AwaitOutput("the line \"stopping\"", func(output string) bool { return strings.Contains(output, "msg=stopping") })
	close(release)
	if code := p.ExitCode(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	p = f.Serve("--webhook-allow-private")
	events, times := r.checkAll(p)
	if events != times {
		t.Errorf("%d events arrived %d times, want once each", events, times)
	}
}

// receiver is a partner's webhook endpoint. It verifies every message with the official Standard Webhooks
// library.
type receiver struct {
	*httptest.Server
	t  *testing.T
	id int64 // the webhook's ID

	mu         sync.Mutex
	secret     string
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

// subscribe creates a webhook for the receiver.
func (r *receiver) subscribe(p *programtest.Program) {
	r.t.Helper()
	a := p.Send("POST", "/v1/webhooks", programtest.AdminKey, fmt.Sprintf(`{"url":%q}`, r.URL+"/hook"))
	programtest.ExpectStatus(r.t, a, http.StatusCreated)
	made := programtest.Decode[struct {
		ID     int64
		Secret string
	}](r.t, a.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id, r.secret = made.ID, made.Secret
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
	contentType := request.Header.Get("Content-Type")
	if request.Method != "POST" || request.URL.Path != "/hook" || contentType != "application/cloudevents+json; charset=utf-8" ||
		!strings.HasPrefix(request.UserAgent(), "animalstore/") {
		return "unexpected " + request.Method + " " + request.URL.Path + ", Content-Type or User-Agent"
	}
	if before := r.bodies[id]; before != "" && before != body {
		return "an earlier message with this webhook-id had another body: " + before
	}
	if n := len(strings.Fields(request.Header.Get("webhook-signature"))); n != 1 {
		return fmt.Sprintf("got %d signatures, want 1", n)
	}
	verifier, err := standardwebhooks.NewWebhook(r.secret)
	if err == nil {
		err = verifier.Verify([]byte(body), request.Header)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// then sets the function that is called for each message. It also resets the total number of messages to 0.
func (r *receiver) then(onMessage func(total int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total, r.onMessage = 0, onMessage
}

// checkAll waits until every event since the webhook's creation has arrived. Each body must be the same as in
// the feed, and there must be no other messages and no pending deliveries. It returns the numbers of events and
// deliveries.
func (r *receiver) checkAll(p *programtest.Program) (events, deliveries int) {
	r.t.Helper()
	since := false
	for _, event := range p.Feed() {
		header := programtest.Decode[struct{ ID, Type, Subject string }](r.t, event)
		since = since || header.Type == "webhook.created" && header.Subject == fmt.Sprint("webhooks/", r.id)
		kind, _, _ := strings.Cut(header.Type, ".")
		if !since || kind == "key" || kind == "webhook" { // a webhook without types gets no events of these kinds
			continue
		}
		events++
		id := "evt_" + header.ID
		programtest.Await(r.t, id, func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.deliveries[id] > 0
		})
		r.mu.Lock()
		if r.bodies[id] != event {
			r.t.Errorf("message %s: got %s\nwant %s like the feed", id, r.bodies[id], event)
		}
		deliveries += r.deliveries[id]
		r.mu.Unlock()
	}
	r.mu.Lock()
	if len(r.deliveries) != events {
		r.t.Errorf("%d different messages arrived, want %d like the events", len(r.deliveries), events)
	}
	r.mu.Unlock()
	programtest.Await(r.t, "the results of all deliveries", func() bool {
		return p.Get(fmt.Sprintf("/v1/webhooks/%d/deliveries?status=pending", r.id)).Body == "[]\n"
	})
	return events, deliveries
}

// TestKilledNodeDeliversToManyWebhooks kills one of two nodes while both send messages to 200 webhooks. Every webhook must
// get every event, with the same webhook-id each time.
func TestKilledNodeDeliversToManyWebhooks(t *testing.T) {
	t.Parallel()
	const webhooks, animals = 200, 10
	var mu sync.Mutex
	got := map[string]map[string]bool{} // the webhook-ids by path
	total := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if got[r.URL.Path] == nil {
			got[r.URL.Path] = map[string]bool{}
		}
		got[r.URL.Path][r.Header.Get("webhook-id")] = true
		total++
	}))
	t.Cleanup(receiver.Close)
	f := newSharedFolder(t)
	nodes := f.ServeNodes(2, "--webhook-allow-private")
	for i := range webhooks {
		programtest.ExpectStatus(t, nodes[0].Send("POST", "/v1/webhooks", programtest.AdminKey,
			fmt.Sprintf(`{"url":"%s/%d","types":["pet.created"]}`, receiver.URL, i)), http.StatusCreated)
	}
	for range animals {
		nodes[1].Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	}
	programtest.Await(t, "some messages", func() bool { mu.Lock(); defer mu.Unlock(); return total >= webhooks*animals/4 })
	nodes[0].Kill()
	programtest.Await(t, "all messages", func() bool {
		mu.Lock()
		defer mu.Unlock()
		n := 0
		for _, ids := range got {
			n += len(ids)
		}
		return n == webhooks*animals
	})
	for path, ids := range got {
		if len(ids) != animals {
			t.Errorf("%s got %d different messages, want %d", path, len(ids), animals)
		}
	}
	t.Logf("%d messages were sent %d times", webhooks*animals, total)
}
