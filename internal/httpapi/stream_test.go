package httpapi

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A stream sends past events after its start position and then new events, without gaps or duplicates.
func TestStreamSendsPastAndNewEvents(t *testing.T) {
	s := newStreamShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	all := s.followFrom("0", "?after=0")
	last := all.wantEvents("category.created categories/1", "pet.created pets/1")
	fromNow := s.followFrom(last, "")
	resumed := s.follow("?after="+last, "Last-Event-ID: 1") // Last-Event-ID takes precedence over the after parameter
	resumed.wantStart("1")
	resumed.wantEvents("pet.created pets/1")
	filtered := s.followFrom(last, "?type=pet.created&type=pet.deleted&subject=pets/2")
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

// Clients write while a reader loses its connection at random. The reader still sees every event exactly once and in
// order. It gets old events from the store and new events from memory.
func TestReconnectingReadersMissNothing(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		s.runJobs()
		s.skipValidation = true
		const old, writers, each = 1300, 4, 20 // 1300 old events fit neither into the feed's memory nor into one read
		s.insertEvents(1, old)
		var writing sync.WaitGroup
		for w := range writers {
			writing.Go(func() {
				for i := range each {
					s.insertEvents(old+w*each+i+1, 1)
				}
			})
		}
		var seen, want []string
		for last := "0"; len(seen) < old+writers*each; {
			r := s.follow("?after=0", "Last-Event-ID: "+last)
			for n := rand.IntN(200); n > 0 && len(seen) < old+writers*each; n-- {
				b := r.want("a block", func(b block) bool { return true })
				last = cmp.Or(b.field("id"), last)
				if data := b.field("data"); data != "" {
					seen = append(seen, last+" "+programtest.Decode[shop.Event](t, data).Subject)
				}
			}
			r.close()
		}
		writing.Wait()
		for _, event := range s.since(t, "/v1/events?limit=100") {
			want = append(want, event.ID+" "+event.Subject)
		}
		if !slices.Equal(seen, want) {
			t.Errorf("the reader saw %q, want %q", seen, want)
		}
	})
}

func TestIdleStreamSendsHeartbeats(t *testing.T) {
	s := newStreamShop(t)
	s.api.streamTiming.heartbeat = time.Millisecond
	r := s.followFrom("0", "?type=pet.deleted")
	r.want("a comment", func(b block) bool { return b == ":\n" })
	s.add(`{"name":"Rex","categoryId":1}`)
	for { // events that the filter excludes only advance the position, so that a reconnect has less to read
		if b := r.want("a comment", func(b block) bool { return strings.HasPrefix(string(b), ":\n") }); b == ":\nid: 2\n" {
			break
		}
	}
}

// A client that does not read its stream is disconnected.
func TestSlowStreamReaderIsDisconnected(t *testing.T) {
	s := parallelShop(t)
	s.api.streamTiming.writeTimeout = 10 * time.Millisecond
	<-s.overPipe(t, "/v1/events", adminKey, acceptStream).ended
	s.do("GET", "/v1/pets", "").want(t, 200, "[]")
}

// A request for the page after an expired position is refused. A stream that resumes there sends a reset and continues
// with the remaining events.
func TestExpiredPositionIsReported(t *testing.T) {
	s := newStreamShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	open := s.followFrom("2", "")
	s.Clock.Forward(2 * time.Hour)
	s.add(`{"name":"Luna","categoryId":1}`)
	open.wantEvents("pet.created pets/2")
	// Use a new service to remove the events. The old one has noticed that the clock was set forward and would keep
	// them for longer.
	shoptest.OK(t, s.node(shop.Options{EventRetention: time.Hour}).RemoveEvents(t.Context()))
	open.close()
	s.waitForStreams(0)
	s.Service = s.node(shop.Options{}) // simulates a node with an empty feed
	s.api.Service = s.Service
	s.runJobs()
	late := s.followFrom("1", "?after=1")
	b := late.want("a reset", func(b block) bool { return b.field("event") == "reset" && b.field("id") == "2" })
	late.wantEvents("pet.created pets/2")
	got := s.do("GET", "/v1/events?after=1", "")
	got.wantError(t, 410, shop.EventsExpired)
	err := s.checks.CheckSchema("Error", []byte(b.field("data")))
	if err != nil || b.field("data") != strings.TrimSpace(string(got.body)) {
		t.Errorf("the stream has %s, and a page %s (%v)", b, got.body, err)
	}
	s.do("GET", "/v1/events?after=0&subject=pets/2", "").wantError(t, 410, shop.EventsExpired)
	for query, want := range map[string]string{"": "3", "after=2": "3", "subject=pets/2": "3", "after=3": ""} {
		s.wantPages(t, "/v1/events?"+query, want)
	}
}

// Errors that occur before a stream starts are reported as ordinary error responses.
func TestStreamErrorsBeforeTheStart(t *testing.T) {
	s := parallelShop(t)
	for _, position := range []string{"-1", "x", "1234567890123456789"} {
		s.do("GET", "/v1/events", "", acceptStream, "Last-Event-ID: "+position).wantError(t, 400, shop.InvalidParameter)
	}
	// A page ignores a valid Last-Event-ID, but an invalid one is refused.
	s.do("GET", "/v1/events", "", "Last-Event-ID: x").wantError(t, 400, shop.InvalidParameter)
	s.do("GET", "/v1/events", "", "Last-Event-ID: 7").want(t, 200, "[]")
	s.do("GET", "/v1/events", "", "Last-Event-ID: ").want(t, 200, "[]") // an empty header counts as missing
	s.do("GET", "/v1/events?type=x", "", acceptStream).wantError(t, 400, shop.InvalidParameter)
	s.do("GET", "/v1/events", "", acceptStream, bearing(s.key(shop.PetsRead))).wantError(t, 403, shop.InsufficientScope)
	s.do("GET", "/v1/events", "", acceptStream, "Authorization: ").wantError(t, 401, shop.MissingAPIKey)
	head := s.do("HEAD", "/v1/events", "", acceptStream)
	if head.want(t, 200, ""); head.Header.Get("Content-Type") != "text/event-stream" ||
		!strings.Contains(s.logLine(t, head), "operation=listEvents status=200") {
		t.Errorf("HEAD returned %v", head.Header)
	}
	s.Store.FailWith(func(bool) error { return shop.UnavailableError(errSecret) })
	s.do("GET", "/v1/events", "", acceptStream).wantError(t, 503, shop.Unavailable)
}

// A client gets a stream if it accepts one and does not prefer JSON.
func TestAcceptHeaderSelectsTheStream(t *testing.T) {
	t.Parallel()
	for accept, stream := range map[string]bool{
		"Text/Event-Stream; q=0.1": true, "text/event-stream;q=0": false, "*/*": false, "text/*": false,
		"application/json, text/event-stream": false, "application/json;q=0.9, text/event-stream": true,
		"nonsense;;, text/event-stream": true, "text/event-stream;q=x": false,
	} {
		if got := wantsStream([]string{accept}); got != stream {
			t.Errorf("%s: a stream: %v", accept, got)
		}
	}
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	for when, test := range map[string]func(t *testing.T, s *testShop){
		"with its key": func(t *testing.T, s *testShop) {
			s.runJobs()
			key := s.Key(t, shop.EventsRead)
			r, other := s.followFrom("1", "", bearing(key.Secret)), s.followFrom("1", "")
			s.do("DELETE", fmt.Sprintf("/v1/keys/%d", key.ID), "").want(t, 204, "")
			shoptest.Must(io.ReadAll(r.lines))(t) // the stream may still send the event about the revoked key
			other.wantEvents("key.revoked keys/1")
			s.do("GET", "/v1/events", "", acceptStream, bearing(key.Secret)).wantError(t, 401, shop.InvalidAPIKey)
		},
		"when the node stops": func(t *testing.T, s *testShop) {
			s.runJobs()
			r := s.followFrom("0", "")
			s.api.Stopping()
			r.wantEnd()
			s.do("GET", "/v1/events", "", acceptStream).wantError(t, 503, shop.Unavailable)
			s.do("GET", "/v1/events", "").want(t, 200, "[]")
		},
		"when the node stops, also for one who reads nothing": func(t *testing.T, s *testShop) {
			s.api.streamTiming.writeTimeout = time.Hour
			client := s.overPipe(t, "/v1/events?after=0", adminKey, acceptStream)
			s.waitForStreams(1)
			s.api.Stopping()
			<-client.ended
		},
		"with its key, also for one who reads slowly": func(t *testing.T, s *testShop) {
			key := s.Key(t, shop.EventsRead)
			s.insertEvents(1, 50, strings.Repeat("x", streamBuffer))
			s.api.streamTiming.writeTimeout = time.Hour
			client := s.overPipe(t, "/v1/events?after=0", key.Secret, acceptStream)
			s.waitForStreams(1)
			shoptest.OK(t, s.RevokeKey(t.Context(), shop.Caller{}, key.ID))
			time.Sleep(2 * keyCheckInterval) // wait until the stream must check the key again
			got, _ := io.ReadAll(client)
			<-client.ended
			if n := strings.Count(string(got), "data: "); n > 2 {
				t.Errorf("%d events were sent after the key was revoked", n)
			}
		},
		"not when the store is away for a while": func(t *testing.T, s *testShop) {
			s.runJobs()
			r := s.followFrom("1", "", bearing(s.key(shop.EventsRead)))
			var asked atomic.Int64
			s.Store.FailWith(func(bool) error {
				asked.Add(1)
				return shop.UnavailableError(errSecret)
			})
			programtest.Await(t, "the service to notice", func() bool { return asked.Load() > 10 })
			s.Store.FailWith(nil)
			s.add(`{"name":"Rex","categoryId":1}`)
			r.wantEvents("category.created categories/1", "pet.created pets/1")
		},
	} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			test(t, newShop(t))
		})
	}
}

// The number of streams that an API key can open is limited, so that other keys can open streams, too. The node has a
// limit for all keys together. Streams do not count as requests in progress, and refused streams do not count at all.
func TestStreamsPerKeyAreLimited(t *testing.T) {
	s := newStreamShop(t, withLimit(admission.EventStreams, 3, 2), withLimit(admission.Requests, 1, 333))
	greedy, modest := bearing(s.key(shop.EventsRead)), bearing(s.key(shop.EventsRead))
	first := s.followFrom("2", "", greedy)
	s.followFrom("2", "", greedy)
	for range 2 {
		got := s.do("GET", "/v1/events", "", acceptStream, greedy)
		got.wantError(t, 429, shop.RateLimited)
		if got.Header.Get("Retry-After") == "" || !strings.Contains(got.message(t), "2") {
			t.Errorf("%v %s", got.Header, got.body)
		}
	}
	s.do("GET", "/v1/events", "", greedy).want(t, 200, "") // this limit does not apply to pages of events
	s.followFrom("2", "", modest)
	s.do("GET", "/v1/events", "", acceptStream).wantError(t, 503, shop.Unavailable)
	first.close()
	s.waitForStreams(2)
	s.followFrom("2", "", greedy)
}

// Streams that read past events from the store wait for their key's turn. Streams that have caught up do not.
func TestReplaysWaitForTheirTurn(t *testing.T) {
	s := newStreamShop(t)
	s.api.streamTiming.heartbeat = time.Millisecond
	s.insertEvents(1, 1300) // more events than the feed keeps in memory
	configured, err := s.Service.Authenticate(t.Context(), adminKey)
	if err != nil {
		t.Fatal(err)
	}
	programtest.Await(t, "the feed to forget the first events", func() bool { last, _ := s.Service.FeedState(); return last == 1300 })
	live := s.followFrom("1300", "")
	slot, err := s.api.Limits.Acquire(t.Context(), admission.EventReads, configured)
	if err != nil {
		t.Fatal(err)
	}
	replay := s.followFrom("0", "?after=0")
	s.add(`{"name":"Rex","categoryId":1}`)
	untilData := func(r *streamReader, id string) (events int) {
		for {
			b := r.want("a block", func(block) bool { return true })
			if b.field("data") != "" {
				events++
			}
			if b.field("id") == id {
				return events
			}
		}
	}
	if got := untilData(live, "1302"); got != 2 {
		t.Errorf("the live stream got %d events, want 2", got)
	}
	replay.want("a comment", func(b block) bool { return strings.HasPrefix(string(b), ":\n") })
	replay.want("a comment", func(b block) bool { return strings.HasPrefix(string(b), ":\n") })
	slot.Release()
	if got := untilData(replay, "1302"); got != 1302 {
		t.Errorf("the replay got %d events, want 1302", got)
	}
}

// With the since parameter, a stream begins with the first event at or after that time, unless the client resumes after
// an event. A stream has no end, so the until parameter is refused.
func TestStreamBeginsAtATime(t *testing.T) {
	s := newStreamShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	events := s.since(t, "/v1/events")
	s.Clock.Forward(time.Hour)
	s.add(`{"name":"Mia","categoryId":1}`)
	s.do("PUT", "/v1/categories/1", `{"name":"Dogs"}`)
	s.do("POST", "/v1/pets", `{"name":"Tom","categoryId":1}`, bearing(s.key(shop.PetsWrite))).want(t, 201, "")
	since := "?since=" + events[0].Time.Add(time.Minute).Format(time.RFC3339)
	stream := s.followFrom("0", since)
	stream.wantEvents("pet.created pets/2", "category.updated categories/1", "key.created keys/1", "pet.created pets/3")
	s.followFrom("4", since, "Last-Event-ID: 4").wantEvents("key.created keys/1")
	s.followFrom("4", since+"&after=4").wantEvents("key.created keys/1")
	s.followFrom("0", since+"&actor=keys/1").wantEvents("pet.created pets/3")
	s.add(`{"name":"Pip","categoryId":1}`)
	stream.wantEvents("pet.created pets/4")
	refused := s.do("GET", "/v1/events?until=2030-01-01T00:00:00Z", "", acceptStream)
	refused.wantError(t, 400, shop.InvalidParameter)
	if !strings.Contains(string(refused.body), "parameter until ") {
		t.Errorf("the message does not name the parameter: %s", refused.body)
	}
}
