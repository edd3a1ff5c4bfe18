package client_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/client"
)

// history are the ids of all events so far.
func (s *openShop) history() (ids []string) {
	s.t.Helper()
	for event, err := range s.client().Events(s.t.Context(), client.EventQuery{}) {
		ids = append(ids, must(event, err)(s.t).ID)
	}
	s.requests()
	return ids
}

// take takes some events of a follower and returns their ids.
func take(t *testing.T, n int, events iter.Seq2[client.Event, error]) (ids []string) {
	t.Helper()
	if n == 0 {
		return nil
	}
	for event, err := range events {
		if ids = append(ids, must(event, err)(t).ID); len(ids) == n {
			break
		}
	}
	return ids
}

// lastError is what a follower ends with, after how many events.
func lastError(events iter.Seq2[client.Event, error]) (n int, last error) {
	for _, err := range events {
		if err == nil {
			n++
		}
		last = err
	}
	return n, last
}

// Wherever in the bytes a connection breaks, every event is told once, in its order.
func TestFollowCutAtEveryByte(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualShop) {
		s.addMany(3)
		want := s.history()
		for n, cut := 0, true; cut; n++ {
			cut = false
			c := s.faulty(func(connection int) int {
				cut = connection > 0
				return []int{n, whole}[min(connection, 1)]
			})
			if got := take(t, len(want), c.Follow(t.Context(), "0", client.EventFilter{})); !slices.Equal(got, want) {
				t.Fatalf("cut after %d bytes it tells %v, want %v", n, got, want)
			}
			if !cut && n < 500 {
				t.Fatalf("%d bytes were all", n)
			}
		}
	})
}

// Many who write, and many who follow on a road that cuts every connection: each is told everything once, in one order.
func TestFollowStorm(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualShop) {
		defer s.working()()
		const writers, each, readers = 4, 15, 5
		want := writers*each + 1 // the first animal brings its category into being
		told := make([][]string, readers)
		var group sync.WaitGroup
		for i := range readers {
			c := s.faulty(func(int) int { return rand.N(4000) })
			group.Go(func() { told[i] = take(t, want, c.Follow(t.Context(), "0", client.EventFilter{})) })
		}
		for range writers {
			group.Go(func() {
				for range each {
					s.add("Rex")
					time.Sleep(rand.N(2 * time.Second))
				}
			})
		}
		group.Wait()
		for _, got := range told {
			if history := s.history(); !slices.Equal(got, history) {
				t.Errorf("it tells %v, want %v", got, history)
			}
		}
	})
}

// Without a place it begins with what happens once it is connected, and keeps that place when the connection breaks before
// the first event.
func TestFollowFromNowOn(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualShop) {
		s.addMany(2)
		before := len(s.history())
		c := s.faulty(func(int) int { return whole })
		var got []string
		var group sync.WaitGroup
		group.Go(func() { got = take(t, 2, c.Follow(t.Context(), "", client.EventFilter{})) })
		synctest.Wait() // until it hears nothing more
		s.cut()
		s.add("Mia") // before it is back
		time.Sleep(time.Minute)
		s.cut()
		s.add("Max")
		group.Wait()
		if want := s.history()[before:]; !slices.Equal(got, want) {
			t.Errorf("it tells %v, want %v", got, want)
		}
	})
}

// Also in an empty shop, which has no event to begin after.
func TestFollowFromTheStart(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualShop) {
		if got := must(s.client().LastEventID(t.Context()))(t); got != "0" {
			t.Errorf("the last event is %q", got)
		}
		c := s.faulty(func(int) int { return whole })
		var got []string
		var group sync.WaitGroup
		group.Go(func() { got = take(t, 2, c.Follow(t.Context(), "", client.EventFilter{})) })
		synctest.Wait()
		s.cut()
		s.add("Rex")
		group.Wait()
		if want := s.history(); !slices.Equal(got, want) {
			t.Errorf("it tells %v, want %v", got, want)
		}
	})
}

func TestLastEventID(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualShop) {
		s.addMany(2)
		history := s.history()
		last := history[len(history)-1]
		s.next(isLost, gets(503, proxyPage))
		if got := must(s.client().LastEventID(t.Context()))(t); got != last {
			t.Errorf("the last event is %q, want %q", got, last)
		}
		breaks := gets(200, "retry: 1\n", "Content-Type", "text/event-stream")
		s.next(breaks, breaks, breaks)
		if got, err := s.client(client.WithRetries(1)).LastEventID(t.Context()); err == nil || len(s.requests()) != 3+2 {
			t.Errorf("got %q, %v", got, err)
		}
		s.next()
		s.add("Mia") // nothing is missed that happens after it was asked for
		if got := take(t, 1, s.client().Follow(t.Context(), last, client.EventFilter{})); !slices.Equal(got, s.history()[len(history):]) {
			t.Errorf("it tells %v", got)
		}
	})
}

func TestFollowFilter(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualShop) {
		pet := s.add("Rex")
		s.add("Mia")
		must(s.client().PlaceOrder(t.Context(), client.NewOrder{PetID: pet.ID}))(t)
		filter := client.EventFilter{Types: []client.EventType{client.EventPetCreated, client.EventPetUpdated}, Subject: "pets/1"}
		var types []client.EventType
		follow := s.client().Follow(t.Context(), "0", filter)
		for range 2 { // a follower can be asked again, and begins where it began
			for event, err := range follow {
				if types = append(types, must(event, err)(t).Type); event.Type == client.EventPetUpdated {
					break
				}
			}
		}
		if want := append(filter.Types, filter.Types...); !slices.Equal(types, want) {
			t.Errorf("it tells of %v", types)
		}
		for event, err := range s.client().Events(t.Context(), client.EventQuery{EventFilter: filter, After: "2", Limit: 1}) {
			if must(event, err)(t).Type != client.EventPetUpdated {
				t.Errorf("the list has %+v", event)
			}
		}
	})
}

// A stream where nothing happens stays, however long: longer than a call may take, and longer than the silence of a broken
// connection.
func TestFollowQuietly(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualShop) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		n, err := lastError(s.faulty(func(int) int { return whole }).Follow(ctx, "", client.EventFilter{}))
		if requests := s.requests(); n != 0 || !errors.Is(err, context.DeadlineExceeded) || len(requests) != 1 {
			t.Errorf("it ends with %v after %d events and %d requests", err, n, len(requests))
		}
	})
}

// A caller that takes its time misses nothing, although the service has long cut it off.
func TestFollowSlowly(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualShop) {
		s.addMany(150)
		want := s.history()
		var got []string
		for event, err := range s.client().Follow(t.Context(), "0", client.EventFilter{}) {
			if got = append(got, must(event, err)(t).ID); len(got) == len(want) {
				break
			}
			time.Sleep(time.Minute)
		}
		if requests := s.requests(); !slices.Equal(got, want) || len(requests) < 2 {
			t.Errorf("with %d requests it tells %v, want %v", len(requests), got, want)
		}
	})
}

// A connection on which nothing comes any more is given up.
func TestFollowBreaksSilence(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualShop) {
		s.addMany(1)
		start := time.Now()
		fallsSilent := func(w http.ResponseWriter, r *http.Request, shop http.Handler) {
			gets(200, "id: 1\n\n", "Content-Type", "text/event-stream")(w, r, shop)
			http.NewResponseController(w).Flush()
			hangs(w, r, shop)
		}
		s.next(hangs, fallsSilent)
		got := take(t, 1, s.faulty(func(int) int { return whole }).Follow(t.Context(), "0", client.EventFilter{}))
		// The first is given up after the 30 seconds that every call has.
		if took := time.Since(start); !slices.Equal(got, []string{"2"}) || took < 75*time.Second || took > 76*time.Second {
			t.Errorf("after %v it tells %v", took, got)
		}
		if sent := s.requests(); len(sent) != 3 || sent[2].header.Get("Last-Event-ID") != "1" {
			t.Errorf("it sent %+v", sent)
		}
	})
}

// What passes by itself does not end a follower, and what does not ends it at once.
func TestFollowErrors(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualShop) {
		s.add("Rex")
		want := s.history()
		s.next(isLost, gets(503, apiError(503, client.CodeUnavailable), "Retry-After", "3"), gets(500, apiError(500, client.CodeInternal)), losesHeader)
		if got := take(t, len(want), s.client().Follow(t.Context(), "0", client.EventFilter{})); !slices.Equal(got, want) {
			t.Errorf("it tells %v, want %v", got, want)
		}
		s.requests()
		for _, a := range []struct {
			status int
			code   client.Code
		}{
			{400, client.CodeInvalidParameter}, {401, client.CodeInvalidAPIKey}, {403, client.CodeInsufficientScope},
			{404, client.CodeNotFound}, {410, client.CodeOperationRemoved},
		} {
			s.next(gets(a.status, apiError(a.status, a.code)))
			_, err := lastError(s.client().Follow(t.Context(), "0", client.EventFilter{}))
			wantCode(t, err, a.code)
		}
		for _, f := range []fate{
			gets(200, "[]", "Content-Type", "application/json"), gets(204, ""), gets(404, proxyPage),
			gets(302, "", "Location", "https://elsewhere.example/"), gets(200, proxyPage, "Content-Type", "text/html"),
		} {
			s.next(f)
			_, err := lastError(s.client().Follow(t.Context(), "0", client.EventFilter{}))
			wantCode(t, err, client.CodeUnexpectedAnswer)
		}
		if n := len(s.requests()); n != 10 {
			t.Errorf("%d requests were sent", n)
		}
		for _, after := range []string{"x", "-1", "+1", " 1", "1.0", "1234567890123456789", "1\r\nX-Evil: 1"} {
			if _, err := lastError(s.client().Follow(t.Context(), after, client.EventFilter{})); err == nil || len(s.requests()) != 0 {
				t.Errorf("after %q: %v", after, err)
			}
		}
	})
}

// losesHeader: the connection is cut after the beginning of a stream's answer.
func losesHeader(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "text/event-stream")
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// Who never gets through is told so, as with every call. Who got through once waits for better times.
func TestFollowGivesUp(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualShop) {
		refused := slices.Repeat([]fate{gets(503, apiError(503, client.CodeUnavailable))}, 100)
		s.next(refused...)
		_, err := lastError(s.client(client.WithRetries(2)).Follow(t.Context(), "0", client.EventFilter{}))
		wantCode(t, err, client.CodeUnavailable)
		if n := len(s.requests()); n != 3 {
			t.Errorf("%d requests were sent", n)
		}
		s.next()
		s.add("Rex")
		s.requests()
		s.next(append([]fate{losesHeader}, refused...)...)
		take(t, 2, s.client(client.WithRetries(0)).Follow(t.Context(), "0", client.EventFilter{}))
		if n := len(s.requests()); n != 1+100+1 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestFollowRevokedKey(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualShop) {
		key := must(s.client().CreateKey(t.Context(), client.NewKey{Name: "x", Scopes: []client.Scope{client.ScopeEventsRead}}))(t)
		n := 0
		var last error
		for _, last = range s.clientWith(key.Secret).Follow(t.Context(), "0", client.EventFilter{}) {
			if last == nil {
				n++
				if err := s.client().RevokeKey(t.Context(), key.ID); n == 1 && err != nil {
					t.Error(err)
				}
			}
		}
		wantCode(t, last, client.CodeInvalidAPIKey)
		other := must(s.client().CreateKey(t.Context(), client.NewKey{Name: "x", Scopes: []client.Scope{client.ScopePetsRead}}))(t)
		_, err := lastError(s.clientWith(other.Secret).Follow(t.Context(), "0", client.EventFilter{}))
		wantCode(t, err, client.CodeInsufficientScope)
	})
}

// The context ends a follower wherever it is, and nothing of it stays behind.
func TestFollowCancelled(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualShop) {
		s.add("Rex")
		refused := gets(503, proxyPage, "Retry-After", "60")
		for name, fates := range map[string][]fate{
			"waiting for the answer": {hangs}, "waiting for events": {arrives}, "between connections": {refused, refused},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Second, cancel)
			start := time.Now()
			s.next(fates...)
			_, err := lastError(s.client().Follow(ctx, "", client.EventFilter{}))
			if took := time.Since(start); !errors.Is(err, context.Canceled) || took != 20*time.Second {
				t.Errorf("%s: it ends with %v after %v", name, err, took)
			}
			if _, err := lastError(s.client().Follow(ctx, "", client.EventFilter{})); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: it begins with %v", name, err)
			}
			if _, err := s.client().LastEventID(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: it begins with %v", name, err)
			}
		}
	})
}

// Where events have been removed, the caller is told, and can go on with those that are there.
func TestFollowReset(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualShop) {
		s.addMany(3)
		old := s.history()
		time.Sleep(2 * time.Hour)
		if err := s.service.RemoveEvents(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.client().ListEvents(t.Context(), client.EventQuery{After: "1"})
		wantCode(t, err, client.CodeEventsExpired)
		s.add("Mia")
		var got []string
		for event, err := range s.faulty(func(int) int { return whole }).Follow(t.Context(), "1", client.EventFilter{}) {
			if err != nil {
				reset, ok := errors.AsType[*client.ResetError](err)
				if !ok || reset.After != old[len(old)-1] || len(got) != 0 {
					t.Fatalf("after %v: %v", got, err)
				}
				wantCode(t, err, client.CodeEventsExpired)
				s.cut() // it keeps the new place
				got = append(got, "reset")
				continue
			}
			got = append(got, event.ID)
			break
		}
		if want := append([]string{"reset"}, s.history()...); !slices.Equal(got, want) {
			t.Errorf("it tells %v, want %v", got, want)
		}
		for _, err := range s.client().Follow(t.Context(), "1", client.EventFilter{}) {
			if err == nil {
				t.Error("no reset")
			}
			break
		}
	}, func(set *settings) { set.EventRetention = time.Hour })
}
