package httpapi

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/shop"
)

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	t.Run("with its key", func(t *testing.T) {
		t.Parallel()
		s := newShop(t)
		s.runJobs()
		key := s.Key(t, shop.EventsRead)
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
		s.api.streamTiming.writeTimeout = time.Hour
		client := s.overPipe(t, "/v1/events?after=0", adminKey, "Accept: text/event-stream")
		s.waitFor("the stream", func() bool { return s.metric("animalstore_event_streams") == 1 })
		s.api.Stopping()
		<-client.ended
	})
	t.Run("with its key, also for one who reads slowly", func(t *testing.T) {
		t.Parallel()
		s := newShop(t)
		key := s.Key(t, shop.EventsRead)
		s.insertEvents(1, 50, strings.Repeat("x", streamBuffer))
		s.api.streamTiming.writeTimeout = time.Hour
		client := s.overPipe(t, "/v1/events?after=0", key.Secret, "Accept: text/event-stream")
		s.waitFor("the stream", func() bool { return s.metric("animalstore_event_streams") == 1 })
		if err := s.RevokeKey(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * keyCheckInterval) // the key is not checked more often than that
		got, _ := io.ReadAll(client)
		<-client.ended
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
		s.Store.FailWith(func(bool) error {
			asked.Add(1)
			return shop.UnavailableError(errors.New("away"))
		})
		s.waitFor("the service to notice", func() bool { return asked.Load() > 10 })
		s.Store.FailWith(nil)
		s.add(`{"name":"Rex","categoryId":1}`)
		r.wantEvents("category.created categories/1", "pet.created pets/1")
	})
}

func TestStreamsAreLimited(t *testing.T) {
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
func TestStreamsPerKeyAreLimited(t *testing.T) {
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
}
