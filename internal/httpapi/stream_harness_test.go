package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/api/apitest"
	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

const acceptStream = "Accept: text/event-stream"

// newStreamShop makes the test parallel and returns a shop that runs its background jobs.
func newStreamShop(t *testing.T, change ...func(*Config)) *testShop {
	t.Helper()
	s := parallelShop(t, change...)
	s.runJobs()
	return s
}

// runJobs runs the service's background jobs as the real program does, until the test ends.
func (s *testShop) runJobs() {
	var wg sync.WaitGroup
	wg.Go(func() { s.Service.RunJobs(s.t.Context(), func(error) {}) })
	s.t.Cleanup(wg.Wait)
}

// streamReader is a client that reads an event stream.
type streamReader struct {
	t        *testing.T
	checks   *apitest.Validator
	response *http.Response
	lines    *bufio.Reader
	close    func()
}

// block is one message in an event stream, without the empty line at its end.
type block string

// field returns the value of a field, or "" if the block does not have it.
func (b block) field(name string) string {
	_, rest, _ := strings.Cut("\n"+string(b), "\n"+name+": ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// follow opens an event stream. Each header has the form "Name: value".
func (s *testShop) follow(query string, headers ...string) *streamReader {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // in case the stream hangs
	request := shoptest.Must(http.NewRequestWithContext(ctx, "GET", s.url+"/v1/events"+query, nil))(s.t)
	for _, header := range append([]string{"Authorization: Bearer " + adminKey, acceptStream}, headers...) {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response := shoptest.Must(s.client.Transport.RoundTrip(request))(s.t)
	r := &streamReader{s.t, s.checks, response, bufio.NewReader(response.Body), func() { cancel(); response.Body.Close() }}
	s.t.Cleanup(r.close)
	if err := s.checks.Check(request, response.StatusCode, response.Header, nil); err != nil || response.StatusCode != 200 {
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
		if err != nil || line == "\n" {
			return b, err
		}
		b += block(line)
	}
}

// want reads the next block and checks that is(block) returns true.
func (r *streamReader) want(what string, is func(block) bool) block {
	r.t.Helper()
	b, err := r.next()
	if err != nil || !is(b) {
		r.t.Fatalf("got %q %v, want %s", b, err, what)
	}
	return b
}

// wantStart checks the first block, which contains the start position.
func (r *streamReader) wantStart(position string) {
	r.t.Helper()
	r.want("the start after "+position, func(b block) bool { return b == block("retry: 2000\nid: "+position+"\n") })
}

// wantEvents checks that the next blocks are the given events, each in the form "type subject", and that they
// match the OpenAPI document. It returns the id of the last event.
func (r *streamReader) wantEvents(subjects ...string) (id string) {
	r.t.Helper()
	for _, subject := range subjects {
		b := r.want(subject, func(b block) bool {
			id = b.field("id")
			var event shop.Event
			err := json.Unmarshal([]byte(b.field("data")), &event)
			return err == nil && b.field("event") == "" && event.ID == id && string(event.Type)+" "+event.Subject == subject
		})
		if err := r.checks.CheckSchema("Event", []byte(b.field("data"))); err != nil {
			r.t.Errorf("%s: %v", b, err)
		}
	}
	return id
}

// wantEnd checks that the stream ends cleanly after a complete block.
func (r *streamReader) wantEnd() {
	r.t.Helper()
	if b, err := r.next(); err != io.EOF || b != "" {
		r.t.Errorf("got %q %v, want the end", b, err)
	}
}

// insertEvents inserts n events about animals in one transaction. The animals have consecutive ids
// starting at first and need not exist.
func (s *testShop) insertEvents(first, n int, current ...string) {
	data := json.RawMessage(toJSON(s.t, map[string]any{"current": current, "previous": nil}))
	err := s.Store.Write(context.Background(), shop.Writing{}, func(tx shop.WriteTx) (err error) {
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
	programtest.Await(s.t, "the streams", func() bool { return s.metric("animalstore_event_streams") == n })
}

// pipeClient is a client on a connection without any buffer. Each write by the service waits until the client reads
// it, so a client that does not read blocks the service at once.
type pipeClient struct {
	net.Conn
	ended chan struct{} // closed when the service has handled the request
}

// overPipe sends a GET request over a connection without any buffer.
func (s *testShop) overPipe(t *testing.T, path, key string, headers ...string) *pipeClient {
	t.Helper()
	ended := make(chan struct{})
	dial := shoptest.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		w.Header().Set("Connection", "close")
		s.api.ServeHTTP(w, r)
	}))
	client := shoptest.Must(dial(t.Context(), "", ""))(t)
	t.Cleanup(func() { client.Close() })
	fmt.Fprintf(client, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n", path, key)
	fmt.Fprintf(client, "%s\r\n", strings.Join(append(headers, ""), "\r\n"))
	return &pipeClient{client, ended}
}

// wantStatus reads the status of the response. The service then waits until the client reads more.
func (c *pipeClient) wantStatus(t *testing.T, status string) {
	t.Helper()
	want := "HTTP/1.1 " + status
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("got %s (%v), want %s", got, err, want)
	}
}
