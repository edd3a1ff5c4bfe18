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
	r, err := s.tryFollow(query, headers...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(r.close)
	return r
}

func (s *testShop) tryFollow(query string, headers ...string) (*streamReader, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // in case the stream hangs
	request, err := http.NewRequestWithContext(ctx, "GET", s.url+"/v1/events"+query, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	for _, header := range append([]string{"Authorization: Bearer " + adminKey, "Accept: text/event-stream"}, headers...) {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := s.client.Transport.RoundTrip(request)
	if err == nil && response.StatusCode == 200 {
		err = s.checks.Check(request, response.StatusCode, response.Header, nil)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return &streamReader{s.t, s.checks, response, bufio.NewReader(response.Body), func() { cancel(); response.Body.Close() }}, nil
}

// next reads one block from the stream.
func (r *streamReader) next() (b block, err error) {
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return b, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "":
			return b, nil
		case ":":
			b.comment = true
		case "id":
			b.id = value
		case "event":
			b.event = value
		case "data":
			b.data = value
		case "retry":
			b.retry = value
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
	data, err := json.Marshal(map[string]any{"current": current, "previous": nil})
	if err != nil {
		s.t.Error(err)
	}

	err = s.Store.Write(context.Background(), func(tx shop.WriteTx) error {
		for i := range n {
			event := shop.NewEvent{Type: shop.PetCreated, Subject: fmt.Sprintf("pets/%d", first+i), Actor: "system", Data: data}
			if err := tx.InsertEvents(event); err != nil {
				return err
			}
		}
		return nil
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

// waitFor waits until is() returns true. It gives up after minutes, in case that never happens.
func (s *testShop) waitFor(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("timeout waiting for %s", what)
		}
	}
}
