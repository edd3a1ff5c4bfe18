package e2e

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
)

// witness follows the events, over connections that break, as a program that is itself started again at times.
type witness struct {
	s       *soak
	id      int
	dice    *rand.Rand
	c       *client.Client
	http    *http.Client
	resumed int // so often it was started, each time with the last event that it had seen

	mu   sync.Mutex
	last string
	seen sequence
}

// sequence is a long row of events, in little room.
type sequence struct {
	ids  []string
	sums []uint64 // of what they say
}

func (s *sequence) add(e client.Event) {
	sum := fnv.New64a()
	fmt.Fprint(sum, e.Type, e.Subject, e.Source, e.Actor, e.Time.UnixMicro(), string(e.Data.Current), string(e.Data.Previous))
	s.ids, s.sums = append(s.ids, e.ID), append(s.sums, sum.Sum64())
}

// differs says where two rows part.
func (s sequence) differs(from sequence) string {
	for i := range max(len(s.ids), len(from.ids)) {
		switch {
		case i >= len(s.ids):
			return fmt.Sprintf("%d events are missing from %s on", len(from.ids)-i, from.ids[i])
		case i >= len(from.ids):
			return fmt.Sprintf("%d events are too many from %s on", len(s.ids)-i, s.ids[i])
		case s.ids[i] != from.ids[i]:
			return fmt.Sprintf("where there should be %s, there is %s", from.ids[i], s.ids[i])
		case s.sums[i] != from.sums[i]:
			return fmt.Sprintf("%s says something else", s.ids[i])
		}
	}
	return ""
}

func newWitness(s *soak, id int) *witness {
	w := &witness{s: s, id: id, last: "0", dice: rand.New(rand.NewPCG(s.seed, uint64(1000+id)))}
	w.http = &http.Client{Transport: &http.Transport{}, Timeout: patience}
	c, err := client.New(s.longRoad.url()+"/v1", adminKey, client.WithHTTPClient(w.http))
	if err != nil {
		s.t.Fatal(err)
	}
	w.c = c
	return w
}

// follow goes on until the context ends.
func (w *witness) follow(ctx context.Context) {
	defer w.http.CloseIdleConnections()
	for ctx.Err() == nil {
		w.resumed++
		life, end := context.WithTimeout(ctx, time.Duration(200+w.dice.IntN(4000))*time.Millisecond)
		for event, err := range w.c.Follow(life, w.last, client.EventFilter{}) {
			if err != nil {
				if e, answered := errors.AsType[*client.Error](err); answered && e.Status != http.StatusServiceUnavailable {
					w.s.problem("the witness %d: %v", w.id, err)
				}
				break
			}
			w.mu.Lock()
			w.seen.add(event)
			w.last = event.ID
			w.mu.Unlock()
		}
		end()
	}
}

func (w *witness) reached() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// letterbox is a webhook's receiver that does not take every message the first time.
type letterbox struct {
	*httptest.Server
	s      *soak
	hook   client.Webhook
	mu     sync.Mutex
	dice   *rand.Rand
	failed map[string]bool // the messages that were not taken, once: the third time would be five minutes later
	taken  map[string]int  // by the id of the event
	times  int
}

// letters are the events that it is told of.
var letters = []client.EventType{
	client.EventOrderPlaced, client.EventOrderApproved, client.EventOrderDelivered, client.EventOrderCancelled,
	client.EventOrderExpired,
}

func newLetterbox(s *soak, c *client.Client) *letterbox {
	l := &letterbox{s: s, dice: rand.New(rand.NewPCG(s.seed, 2000)), failed: map[string]bool{}, taken: map[string]int{}}
	l.Server = httptest.NewServer(l)
	s.t.Cleanup(l.Close)
	hook, err := c.CreateWebhook(s.t.Context(), client.NewWebhook{URL: l.URL, Types: letters})
	if err != nil {
		s.t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hook = hook
	return l
}

func (l *letterbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed: it comes again
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times++
	event, err := client.VerifyWebhook(r.Header, body, l.hook.Secret)
	id := r.Header.Get("webhook-id")
	switch {
	case err != nil || id != "evt_"+event.ID || !slices.Contains(letters, event.Type):
		l.s.problem("the message %s: %v\n%s", id, err, body)
	case !l.failed[id] && l.dice.IntN(8) == 0:
		l.failed[id] = true
		if l.dice.IntN(2) == 0 {
			panic(http.ErrAbortHandler) // no answer at all
		}
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	l.taken[event.ID]++
	w.WriteHeader(http.StatusNoContent)
}

// missing is the first event that it should have been told of, and was not.
func (l *letterbox) missing(events []client.Event) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		if slices.Contains(letters, e.Type) && l.taken[e.ID] == 0 {
			return e.ID
		}
	}
	return ""
}
