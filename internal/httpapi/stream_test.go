package httpapi

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

// A stream sends past events after its start position and then new events, without gaps or duplicates.
func TestStreamSendsPastAndNewEvents(t *testing.T) {
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
func TestStreamMissesNothingBetweenStoreAndMemory(t *testing.T) {
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
func TestReconnectingReadersMissNothing(t *testing.T) {
	onBothEngines(t, wantSameEvents)
}

func wantSameEvents(t *testing.T, s *testShop) {
	s.runJobs()
	const writers, each, readers = 4, 20, 4
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

func TestIdleStreamSendsHeartbeats(t *testing.T) {
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

// A client that does not read its stream is disconnected.
func TestSlowStreamReaderIsDisconnected(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.api.streamTiming.writeTimeout = 10 * time.Millisecond
	<-s.overPipe(t, "/v1/events", adminKey, "Accept: text/event-stream").ended
	s.do("GET", "/v1/pets", "").want(t, 200, "[]")
}

// A page after an expired position is refused. A stream that resumes there sends a reset and continues with the
// remaining events.
func TestExpiredPositionIsReported(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.runJobs()
	s.add(`{"name":"Rex","categoryId":1}`)
	open := s.follow("")
	open.wantStart("2")
	s.Clock.Forward(2 * time.Hour)
	s.add(`{"name":"Luna","categoryId":1}`)
	open.wantEvents("pet.created pets/2")
	// The events are removed by a new service, which starts with the clock at its new time.
	if err := s.node(shop.Options{EventRetention: time.Hour}).RemoveEvents(t.Context()); err != nil {
		t.Fatal(err)
	}
	open.close()
	s.waitFor("its end", func() bool { return s.metric("animalstore_event_streams") == 0 })
	s.Service = s.node(shop.Options{}) // simulates a node with an empty feed
	s.api.Service = s.Service
	s.runJobs()
	late := s.follow("?after=1")
	late.wantStart("1")
	b := late.want("a reset", func(b block) bool { return b.event == "reset" && b.id == "2" })
	late.wantEvents("pet.created pets/2")
	got := s.do("GET", "/v1/events?after=1", "")
	got.wantError(t, 410, shop.EventsExpired)
	if err := s.checks.CheckSchema("Error", []byte(b.data)); err != nil || b.data != strings.TrimSpace(string(got.body)) {
		t.Errorf("the stream has %s, and a page %s (%v)", b.data, got.body, err)
	}
	for _, query := range []string{"after=0", "after=1&type=order.placed", "after=0&subject=pets/2", "after=000"} {
		s.do("GET", "/v1/events?"+query, "").wantError(t, 410, shop.EventsExpired)
	}
	for _, query := range []string{"", "after=2", "subject=pets/2", "limit=1"} { // from the oldest remaining event onwards
		s.wantPages(t, "/v1/events?"+query, "3")
	}
	s.do("GET", "/v1/events?after=3", "").want(t, 200, "[]")
}

// Errors that occur before a stream starts are reported as ordinary error responses.
func TestStreamErrorsBeforeTheStart(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const accept = "Accept: text/event-stream"
	for _, position := range []string{"-1", "x", "1234567890123456789", "1.0", "+1"} {
		s.do("GET", "/v1/events", "", accept, "Last-Event-ID: "+position).wantError(t, 400, shop.InvalidParameter)
	}
	s.do("GET", "/v1/events", "", "Last-Event-ID: x").want(t, 200, "[]") // the header is ignored for pages
	s.do("GET", "/v1/events?type=x", "", accept).wantError(t, 400, shop.InvalidParameter)
	s.do("GET", "/v1/events", "", accept, bearing(s.key(shop.PetsRead))).wantError(t, 403, shop.InsufficientScope)
	s.do("GET", "/v1/events", "", accept, "Authorization: ").wantError(t, 401, shop.MissingAPIKey)
	head := s.do("HEAD", "/v1/events", "", accept)
	if head.want(t, 200, ""); head.Header.Get("Content-Type") != "text/event-stream" || !strings.Contains(s.logLine(t, head), "operation=listEvents status=200") {
		t.Errorf("HEAD returned %v", head.Header)
	}
	s.Store.FailWith(func(bool) error { return shop.UnavailableError(errSecret) })
	s.do("GET", "/v1/events", "", accept).wantError(t, 503, shop.Unavailable)
}

// A client gets a stream if it accepts one and does not prefer JSON.
func TestAcceptHeaderSelectsTheStream(t *testing.T) {
	t.Parallel()
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
