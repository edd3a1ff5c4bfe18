package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/api/apitest"
	"animalstore/internal/shop"
)

const acceptStream = "Accept: text/event-stream"

// newStreamShop returns a shop that runs its jobs, for a test that is run in parallel with others.
func newStreamShop(t *testing.T, change ...func(*Config)) *testShop {
	t.Parallel()
	s := newShop(t, change...)
	s.runJobs()
	return s
}

// runJobs runs the service's background jobs as the real program does, until the test ends.
func (s *testShop) runJobs() {
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.Service.RunJobs(ctx, func(error) {}) })
	s.t.Cleanup(func() {
		stop()
		wg.Wait()
	})
}

// streamReader is a client that reads an event stream.
type streamReader struct {
	t        *testing.T
	checks   *apitest.Validator
	response *http.Response
	lines    *bufio.Reader
	close    func()
}

// block is one message in an event stream.
type block struct {
	id, event, data, retry string
	comment                bool
}

// follow opens an event stream. Each header has the form "Name: value".
func (s *testShop) follow(query string, headers ...string) *streamReader {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // in case the stream hangs
	request, err := http.NewRequestWithContext(ctx, "GET", s.url+"/v1/events"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, header := range append([]string{"Authorization: Bearer " + adminKey, acceptStream}, headers...) {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := s.client.Transport.RoundTrip(request)
	if err != nil {
		s.t.Fatal(err)
	}
	r := &streamReader{s.t, s.checks, response, bufio.NewReader(response.Body), func() { cancel(); response.Body.Close() }}
	s.t.Cleanup(r.close)
	if err = s.checks.Check(request, response.StatusCode, response.Header, nil); err != nil || response.StatusCode != 200 {
		s.t.Fatalf("the stream has the status %d, %v", response.StatusCode, err)
	}
	return r
}

// followFrom opens an event stream and checks its start position.
func (s *testShop) followFrom(position, query string, headers ...string) *streamReader {
	s.t.Helper()
	r := s.follow(query, headers...)
	r.wantStart(position)
	return r
}

// next reads one block from the stream.
func (r *streamReader) next() (b block, err error) {
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return b, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		field, known := map[string]*string{"id": &b.id, "event": &b.event, "data": &b.data, "retry": &b.retry}[name]
		switch {
		case name == "":
			return b, nil
		case name == ":":
			b.comment = true
		case known:
			*field = value
		default:
			return b, fmt.Errorf("the line %q", line)
		}
	}
}

// want reads the next block and checks that is(block) returns true.
func (r *streamReader) want(what string, is func(block) bool) block {
	r.t.Helper()
	b, err := r.next()
	if err != nil || !is(b) {
		r.t.Fatalf("got %+v %v, want %s", b, err, what)
	}
	return b
}

// wantStart checks the first block, which contains the start position.
func (r *streamReader) wantStart(position string) {
	r.t.Helper()
	r.want("the start after "+position, func(b block) bool { return b == block{id: position, retry: "2000"} })
}

// wantEvents checks that the next blocks are the given events, each in the form "type subject", and that they
// match the OpenAPI document. It returns the id of the last event.
func (r *streamReader) wantEvents(subjects ...string) (id string) {
	r.t.Helper()
	for _, subject := range subjects {
		b := r.want(subject, func(b block) bool {
			var event shop.Event
			err := json.Unmarshal([]byte(b.data), &event)
			id = b.id
			return err == nil && b.event == "" && event.ID == b.id && event.Type+" "+shop.EventType(event.Subject) == shop.EventType(subject)
		})
		if err := r.checks.CheckSchema("Event", []byte(b.data)); err != nil {
			r.t.Errorf("%s: %v", b.data, err)
		}
	}
	return id
}

// wantEnd checks that the stream ends cleanly after a complete block.
func (r *streamReader) wantEnd() {
	r.t.Helper()
	if b, err := r.next(); err != io.EOF || b != (block{}) {
		r.t.Errorf("got %+v %v, want the end", b, err)
	}
}

// insertEvents inserts n events about animals in one transaction. The animals have consecutive ids
// starting at first and need not exist.
func (s *testShop) insertEvents(first, n int, current ...string) {
	data := json.RawMessage(toJSON(s.t, map[string]any{"current": current, "previous": nil}))
	err := s.Store.Write(context.Background(), func(tx shop.WriteTx) (err error) {
		for i := 0; i < n && err == nil; i++ {
			event := shop.NewEvent{Type: shop.PetCreated, Subject: fmt.Sprintf("pets/%d", first+i), Actor: "system", Data: data}
			err = tx.InsertEvents(event)
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

// metric returns the value of a metric that has no labels.
func (s *testShop) metric(name string) (value float64) {
	s.t.Helper()
	body := string(s.do("GET", "/metrics", "").body)
	_, rest, _ := strings.Cut(body, "\n"+name+" ")
	fmt.Sscan(rest, &value)
	return value
}

// waitForStreams waits until n streams are open.
func (s *testShop) waitForStreams(n float64) {
	s.t.Helper()
	s.waitFor("the streams", func() bool { return s.metric("animalstore_event_streams") == n })
}

// waitFor waits until is() returns true. It gives up after minutes, in case that never happens.
func (s *testShop) waitFor(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("timeout waiting for %s", what)
		}
	}
}
