package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

// A stream sends past events after its start position and then new events, without gaps or duplicates.
func TestStream(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.runJobs()
	s.add(`{"name":"Rex","categoryId":1}`)
	all := s.follow("?after=0")
	all.wantStart("0")
	last := all.wantEvents("category.created categories/1", "pet.created pets/1")
	fromNow := s.follow("")
	fromNow.wantStart(last)
	resumed := s.follow("?after="+last, "Last-Event-ID: 1") // Last-Event-ID takes precedence over the after parameter
	resumed.wantStart("1")
	resumed.wantEvents("pet.created pets/1")
	filtered := s.follow("?type=pet.created&type=pet.deleted&subject=pets/2")
	filtered.wantStart(last)
	s.add(`{"name":"Luna","categoryId":1}`)
	for _, stream := range []*streamReader{all, fromNow, resumed, filtered} {
		stream.wantEvents("pet.created pets/2")
	}
	s.do("PATCH", "/v1/pets/2", `{"name":"Luna II"}`).want(t, 200, "")
	s.do("DELETE", "/v1/pets/2", "").want(t, 204, "")
	filtered.wantEvents("pet.deleted pets/2")
	fromNow.wantEvents("pet.updated pets/2", "pet.deleted pets/2")
	h := fromNow.response.Header
	if h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-store" || h.Get("X-Accel-Buffering") != "no" {
		t.Errorf("%v", h)
	}
}

// Old events are read from the store and new events from memory. No event is lost in between.
func TestStreamFromTheBeginning(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.runJobs()
	s.skipValidation = true
	const before, after = 1300, 50 // more events than the feed keeps in memory or one read returns
	s.insertEvents(1, before)
	r := s.follow("?after=0&type=pet.created")
	r.wantStart("0")
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range after {
			s.insertEvents(before+i+1, 1)
		}
	})
	defer writing.Wait()
	for i := range before + after {
		r.wantEvents(fmt.Sprintf("pet.created pets/%d", i+1))
	}
}

// Many clients write while many readers lose their connections at random. Each reader still sees every
// event exactly once and in order.
func TestStreamReaders(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.runJobs()
	const writers, each, readers = 6, 30, 6
	var writing, reading sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for n := range each {
				if got, err := s.tryDo("POST", "/v1/pets", fmt.Sprintf(`{"name":"%d of %d","categoryId":1}`, n, w)); err != nil || got.StatusCode != 201 {
					t.Errorf("%v %s", err, got.body)
				}
			}
		})
	}
	var feeds [readers][]string
	for i := range readers {
		reading.Go(func() {
			last := "0"
			for seen := 0; seen < writers*each; {
				r, err := s.tryFollow("?type=pet.created&after=0", "Last-Event-ID: "+last)
				if err != nil {
					t.Error(err)
					return
				}
				for range rand.IntN(40) {
					b, err := r.next()
					if err != nil {
						t.Errorf("the reader %d: %v", i, err)
						return
					}
					if b.id != "" {
						last = b.id
					}
					if b.data != "" {
						feeds[i] = append(feeds[i], b.id+" "+b.data)
						seen++
					}
					if seen == writers*each {
						break
					}
				}
				r.close()
			}
		})
	}
	writing.Wait()
	reading.Wait()
	want := map[string]bool{}
	position := 0
	for _, line := range feeds[0] {
		id, err := strconv.Atoi(strings.Fields(line)[0])
		if err != nil || id <= position || want[line] {
			t.Errorf("after %d comes %s", position, line)
		}
		position, want[line] = id, true
	}
	for i := range readers {
		if diff := cmp.Diff(feeds[0], feeds[i]); diff != "" || len(feeds[i]) != writers*each {
			t.Errorf("the reader %d saw %d events, others than the first:\n%s", i, len(feeds[i]), diff)
		}
	}
}

func TestStreamHeartbeat(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.runJobs()
	s.api.streamTiming.heartbeat = time.Millisecond
	r := s.follow("?type=pet.deleted")
	r.wantStart("0")
	r.want("a comment", func(b block) bool { return b == block{comment: true} })
	s.add(`{"name":"Rex","categoryId":1}`)
	for { // excluded events only advance the position, so that a reconnect has less to read
		if b := r.want("a comment", func(b block) bool { return b.comment && b.data == "" }); b.id == "2" {
			break
		}
	}
}

// A client that does not read its stream is disconnected. Other clients miss no events.
func TestStreamOfASlowReader(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.runJobs()
	s.skipValidation = true
	s.api.streamTiming.writeTimeout = time.Second
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	connection.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprintf(connection, "GET /v1/events?after=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n", adminKey)
	s.waitFor("the stream", func() bool { return s.metric("animalstore_event_streams") == 1 })
	const events = 400 // events of 32 KiB each, which exceed all buffers on the way
	for i := range events / 50 {
		s.insertEvents(50*i+1, 50, strings.Repeat("x", 32<<10))
	}
	for seen, last := 0, "0"; seen < events; { // on a busy machine, this client may be disconnected, too
		quick := s.follow("", "Last-Event-ID: "+last)
		quick.wantStart(last)
		for seen < events {
			b, err := quick.next()
			if err != nil {
				break
			}
			if !strings.Contains(b.data, fmt.Sprintf(`"subject":"pets/%d"`, seen+1)) {
				t.Fatalf("after %d comes %.300s", seen, b.data)
			}
			seen, last = seen+1, b.id
		}
		quick.close()
	}
	s.waitFor("the end of both", func() bool { return s.metric("animalstore_event_streams") == 0 })
}

// oneConnection is a net.Listener that accepts only one connection.
type oneConnection struct {
	net.Conn
	closed chan struct{}
}

func (l *oneConnection) Accept() (connection net.Conn, err error) {
	if connection, l.Conn = l.Conn, nil; connection == nil {
		<-l.closed
		return nil, net.ErrClosed
	}
	return connection, nil
}

func (l *oneConnection) Close() error {
	close(l.closed)
	return nil
}

func (l *oneConnection) Addr() net.Addr { return &net.TCPAddr{} }

// followSlowly opens a stream of all events over an unbuffered connection. The write timeout is
// practically disabled, so each write waits until the client reads it.
func (s *testShop) followSlowly(t *testing.T, key string) (connection net.Conn, ended chan struct{}) {
	s.api.streamTiming.writeTimeout = time.Hour
	connection, ours := net.Pipe()
	ended = make(chan struct{})
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		w.Header().Set("Connection", "close")
		s.api.ServeHTTP(w, r)
	})}
	t.Cleanup(func() {
		connection.Close()
		server.Close()
	})
	go server.Serve(&oneConnection{ours, make(chan struct{})})
	fmt.Fprintf(connection, "GET /v1/events?after=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n", key)
	return connection, ended
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	t.Run("with its key", func(t *testing.T) {
		t.Parallel()
		s := newShop(t)
		s.runJobs()
		key, err := s.service.CreateKey(t.Context(), shop.NewKey{Name: "partner", Scopes: []shop.Scope{shop.EventsRead}})
		if err != nil {
			t.Fatal(err)
		}
		r, other := s.follow("", bearing(key.Secret)), s.follow("")
		r.wantStart("1")
		other.wantStart("1")
		s.do("DELETE", fmt.Sprintf("/v1/keys/%d", key.ID), "").want(t, 204, "")
		for {
			if _, err := r.next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		other.wantEvents("key.revoked keys/1")
		got := s.do("GET", "/v1/events", "", "Accept: text/event-stream", bearing(key.Secret))
		got.wantError(t, 401, shop.InvalidAPIKey)
	})
	t.Run("when the node stops", func(t *testing.T) {
		t.Parallel()
		s := newShop(t)
		s.runJobs()
		r := s.follow("")
		r.wantStart("0")
		s.api.Stopping()
		r.wantEnd()
		s.do("GET", "/v1/events", "", "Accept: text/event-stream").wantError(t, 503, shop.Unavailable)
		s.do("GET", "/v1/events", "").want(t, 200, "[]")
	})
	t.Run("when the node stops, also for one who reads nothing", func(t *testing.T) {
		t.Parallel()
		s := newShop(t)
		_, ended := s.followSlowly(t, adminKey)
		s.waitFor("the stream", func() bool { return s.metric("animalstore_event_streams") == 1 })
		s.api.Stopping()
		select {
		case <-ended:
		case <-time.After(2 * time.Minute):
			t.Error("the stream did not end")
		}
	})
	t.Run("with its key, also for one who reads slowly", func(t *testing.T) {
		t.Parallel()
		s := newShop(t)
		key, err := s.service.CreateKey(t.Context(), shop.NewKey{Name: "partner", Scopes: []shop.Scope{shop.EventsRead}})
		if err != nil {
			t.Fatal(err)
		}
		s.insertEvents(1, 50, strings.Repeat("x", streamBuffer))
		connection, ended := s.followSlowly(t, key.Secret)
		s.waitFor("the stream", func() bool { return s.metric("animalstore_event_streams") == 1 })
		if err := s.service.RevokeKey(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * keyCheckInterval)
		got, _ := io.ReadAll(connection)
		<-ended
		if n := strings.Count(string(got), "data: "); n > 2 {
			t.Errorf("%d events were sent after the key was revoked", n)
		}
	})
	t.Run("not when the store is away for a while", func(t *testing.T) {
		t.Parallel()
		s := newShop(t)
		s.runJobs()
		partner := s.key(shop.EventsRead)
		r := s.follow("", bearing(partner))
		r.wantStart("1")
		var asked atomic.Int64
		s.store.failWith(func(bool) error {
			asked.Add(1)
			return shop.UnavailableError(errors.New("away"))
		})
		s.waitFor("the service to notice", func() bool { return asked.Load() > 10 })
		s.store.failWith(nil)
		s.add(`{"name":"Rex","categoryId":1}`)
		r.wantEvents("category.created categories/1", "pet.created pets/1")
	})
}

func TestStreamLimits(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *Config) { c.MaxStreams, c.MaxInFlight = 2, 1 })
	s.runJobs()
	first, second := s.follow(""), s.follow("")
	first.wantStart("0")
	second.wantStart("0")
	got := s.do("GET", "/v1/events", "", "Accept: text/event-stream")
	got.wantError(t, 503, shop.Unavailable)
	s.do("GET", "/v1/events", "").want(t, 200, "[]") // streams do not count as requests in flight
	first.close()
	s.waitFor("a place", func() bool { return s.metric("animalstore_event_streams") == 1 })
	s.follow("").wantStart("0")
}

// An API key cannot open more streams than its limit allows, so streams are left for other keys.
func TestStreamsOfOneKey(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *Config) { c.MaxStreams, c.MaxKeyStreams = 3, 2 })
	s.runJobs()
	greedy, modest := s.key(shop.EventsRead), s.key(shop.EventsRead)
	first, second := s.follow("", bearing(greedy)), s.follow("", bearing(greedy))
	first.wantStart("2")
	second.wantStart("2")
	for range 5 { // refused streams do not count towards the limit
		got := s.do("GET", "/v1/events", "", "Accept: text/event-stream", bearing(greedy))
		got.wantError(t, 429, shop.RateLimited)
		if got.Header.Get("Retry-After") == "" || !strings.Contains(got.message(t), "2") {
			t.Errorf("%v %s", got.Header, got.body)
		}
	}
	s.do("GET", "/v1/events", "", bearing(greedy)).want(t, 200, "") // pages of events are not limited
	s.follow("", bearing(modest)).wantStart("2")
	s.do("GET", "/v1/events", "", "Accept: text/event-stream", bearing(s.key(shop.EventsRead))).wantError(t, 503, shop.Unavailable)
	first.close()
	s.waitFor("a place", func() bool { return s.metric("animalstore_event_streams") == 2 })
	s.follow("", bearing(greedy)).wantStart("3")
	s.api.streams.mu.Lock()
	defer s.api.streams.mu.Unlock()
	if n := len(s.api.streams.openByKey); n != 2 {
		t.Errorf("%d keys are remembered", n)
	}
}

// A client that reconnects after its position has expired gets a reset and continues with the remaining
// events.
func TestStreamReset(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.runJobs()
	s.add(`{"name":"Rex","categoryId":1}`)
	open := s.follow("")
	open.wantStart("2")
	s.clock.forward(2 * time.Hour)
	s.add(`{"name":"Luna","categoryId":1}`)
	open.wantEvents("pet.created pets/2")
	// The events are removed by a new service, which starts with the clock at its new time.
	if err := s.open(shop.Options{EventRetention: time.Hour}).RemoveEvents(t.Context()); err != nil {
		t.Fatal(err)
	}
	open.close()
	s.waitFor("its end", func() bool { return s.metric("animalstore_event_streams") == 0 })
	s.service = s.open(shop.Options{}) // simulates a node with an empty feed
	s.api.Service = s.service
	s.runJobs()
	late := s.follow("?after=1")
	late.wantStart("1")
	b := late.want("a reset", func(b block) bool { return b.event == "reset" && b.id == "2" })
	var said errorBody
	if err := json.Unmarshal([]byte(b.data), &said); err != nil || said.Code != shop.EventsExpired || said.Status != 410 {
		t.Errorf("%s %v", b.data, err)
	}
	late.wantEvents("pet.created pets/2")
	got := s.do("GET", "/v1/events?after=1", "")
	got.wantError(t, 410, shop.EventsExpired)
	s.do("GET", "/v1/events?after=0", "").wantError(t, 410, shop.EventsExpired)
	for _, query := range []string{"?after=2", ""} {
		if got := s.do("GET", "/v1/events"+query, ""); got.StatusCode != 200 || !strings.Contains(string(got.body), `"id":"3"`) || strings.Contains(string(got.body), `"id":"2"`) {
			t.Errorf("%s: %d %s", query, got.StatusCode, got.body)
		}
	}
}

func TestStreamRequests(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, position := range []string{"-1", "x", "1234567890123456789", "1.0", "+1"} {
		s.do("GET", "/v1/events", "", "Accept: text/event-stream", "Last-Event-ID: "+position).wantError(t, 400, shop.InvalidParameter)
	}
	s.do("GET", "/v1/events", "", "Last-Event-ID: x").want(t, 200, "[]") // the header is ignored for pages
	s.do("HEAD", "/v1/events", "", "Accept: text/event-stream").want(t, 200, "")
	for accept, stream := range map[string]bool{
		"text/event-stream": true, "Text/Event-Stream; q=0.1": true, "text/event-stream;q=0": false, "*/*": false, "text/*": false,
		"application/json, text/event-stream": false, "application/json;q=0.9, text/event-stream": true, "nonsense;;, text/event-stream": true,
		"text/event-stream;q=x": false, "application/json": false,
	} {
		if got := wantsStream([]string{accept}); got != stream {
			t.Errorf("%s: a stream: %v", accept, got)
		}
	}
}
