package client_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/client"
)

// history returns the ids of all events so far, oldest first.
func (s *testService) history() (ids []string) {
	s.t.Helper()
	for event, err := range s.client().Events(s.t.Context(), client.EventQuery{}) {
		ids = append(ids, must(event, err)(s.t).ID)
	}
	s.requests()
	return ids
}

// take reads n events from a follower and returns their ids.
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

// lastError reads all events from a follower until it ends. It returns the number of events and the last
// error.
func lastError(events iter.Seq2[client.Event, error]) (n int, last error) {
	for _, err := range events {
		if err == nil {
			n++
		}
		last = err
	}
	return n, last
}

// Every event is delivered exactly once and in order, no matter at which byte a connection breaks.
func TestFollowCutAtEveryByte(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		s.addPet("Rex") // also creates a category, so there are two events
		want := s.history()
		for n, cut := 0, true; cut; n++ {
			cut = false
			c := s.cuttingClient(func(connection int) int {
				cut = connection > 0
				return []int{n, neverCut}[min(connection, 1)]
			})
			if got := take(t, len(want), c.Follow(t.Context(), "0", client.EventFilter{})); !slices.Equal(got, want) {
				t.Fatalf("cut after %d bytes: delivered %v, want %v", n, got, want)
			}
			if !cut && n < 500 {
				t.Fatalf("the stream had only %d bytes", n)
			}
		}
	})
}

// Even if there are many writers and all connections break, each follower gets every event exactly once and
// in the same order.
func TestFollowConcurrently(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		defer s.working()()
		const writers, each, readers = 4, 15, 5
		want := writers*each + 1 // one event per animal, and one for the category that the first animal creates
		delivered := make([][]string, readers)
		var group sync.WaitGroup
		for i := range readers {
			c := s.cuttingClient(func(int) int { return rand.N(4000) })
			group.Go(func() { delivered[i] = take(t, want, c.Follow(t.Context(), "0", client.EventFilter{})) })
		}
		for range writers {
			group.Go(func() {
				for range each {
					s.addPet("Rex")
					time.Sleep(rand.N(2 * time.Second))
				}
			})
		}
		group.Wait()
		for _, got := range delivered {
			if history := s.history(); !slices.Equal(got, history) {
				t.Errorf("delivered %v, want %v", got, history)
			}
		}
	})
}

// Without a start position, a follower starts with the first event after it has connected. It keeps its
// position if the connection breaks before the first event.
func TestFollowFromNowOn(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		s.addPets(2)
		before := len(s.history())
		c := s.cuttingClient(func(int) int { return neverCut })
		var got []string
		var group sync.WaitGroup
		group.Go(func() { got = take(t, 2, c.Follow(t.Context(), "", client.EventFilter{})) })
		synctest.Wait() // wait until the follower is waiting for events
		s.cut()
		s.addPet("Mia") // happens before the follower has reconnected
		time.Sleep(time.Minute)
		s.cut()
		s.addPet("Max")
		group.Wait()
		if want := s.history()[before:]; !slices.Equal(got, want) {
			t.Errorf("delivered %v, want %v", got, want)
		}
	})
}

// Following also works in an empty store, which has no last event.
func TestFollowFromTheStart(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		if got := must(s.client().LastEventID(t.Context()))(t); got != "0" {
			t.Errorf("the last event is %q", got)
		}
		c := s.cuttingClient(func(int) int { return neverCut })
		var got []string
		var group sync.WaitGroup
		group.Go(func() { got = take(t, 2, c.Follow(t.Context(), "", client.EventFilter{})) })
		synctest.Wait()
		s.cut()
		s.addPet("Rex")
		group.Wait()
		if want := s.history(); !slices.Equal(got, want) {
			t.Errorf("delivered %v, want %v", got, want)
		}
	})
}

func TestLastEventID(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		s.addPets(2)
		history := s.history()
		last := history[len(history)-1]
		s.inject(dropRequest, respond(503, proxyPage))
		if got := must(s.client().LastEventID(t.Context()))(t); got != last {
			t.Errorf("the last event is %q, want %q", got, last)
		}
		breaks := respond(200, "retry: 1\n", "Content-Type", "text/event-stream")
		s.inject(breaks, breaks, breaks)
		if got, err := s.client(client.WithRetries(1)).LastEventID(t.Context()); err == nil || len(s.requests()) != 3+2 {
			t.Errorf("got %q, %v", got, err)
		}
		s.inject(goIdle(":\n\n"), goIdle(":\n\n"))
		if got, err := s.client(client.WithRetries(1)).LastEventID(t.Context()); err == nil || len(s.requests()) != 2 {
			t.Errorf("got %q, %v", got, err)
		}
		s.addPet("Mia") // an event after LastEventID was called must not be missed
		if got := take(t, 1, s.client().Follow(t.Context(), last, client.EventFilter{})); !slices.Equal(got, s.history()[len(history):]) {
			t.Errorf("delivered %v", got)
		}
	})
}

func TestFollowFilter(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		pet := s.addPet("Rex")
		s.addPet("Mia")
		must(s.client().PlaceOrder(t.Context(), client.NewOrder{PetID: pet.ID}))(t)
		filter := client.EventFilter{Types: []client.EventType{client.EventPetCreated, client.EventPetUpdated}, Subject: "pets/1"}
		var types []client.EventType
		follow := s.client().Follow(t.Context(), "0", filter)
		for range 2 { // the sequence can be iterated more than once
			for event, err := range follow {
				if types = append(types, must(event, err)(t).Type); event.Type == client.EventPetUpdated {
					break
				}
			}
		}
		if want := append(filter.Types, filter.Types...); !slices.Equal(types, want) {
			t.Errorf("delivered %v", types)
		}
		for event, err := range s.client().Events(t.Context(), client.EventQuery{EventFilter: filter, After: "2", Limit: 1}) {
			if must(event, err)(t).Type != client.EventPetUpdated {
				t.Errorf("the list has %+v", event)
			}
		}
	})
}

// A stream without events stays connected for longer than the timeout for a call and longer than the idle
// timeout.
func TestFollowStaysConnectedWithoutEvents(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		n, err := lastError(s.cuttingClient(func(int) int { return neverCut }).Follow(ctx, "", client.EventFilter{}))
		if requests := s.requests(); n != 0 || !errors.Is(err, context.DeadlineExceeded) || len(requests) != 1 {
			t.Errorf("ended with %v after %d events and %d requests", err, n, len(requests))
		}
	})
}

// A slow caller misses no events, even though the service drops its connection.
func TestFollowSlowCaller(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		s.addPets(60)
		want := s.history()
		var got []string
		for event, err := range s.client().Follow(t.Context(), "0", client.EventFilter{}) {
			if got = append(got, must(event, err)(t).ID); len(got) == len(want) {
				break
			}
			time.Sleep(time.Minute)
		}
		if requests := s.requests(); !slices.Equal(got, want) || len(requests) < 2 {
			t.Errorf("with %d requests: delivered %v, want %v", len(requests), got, want)
		}
	})
}

// On a slow network, the service drops slow connections, but every event still arrives.
func TestFollowSlowNetwork(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		s.addPets(20)
		want := s.history()
		slow := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := s.dial(ctx, network, address)
			return slowConn{conn}, err
		}}
		c := s.client(client.WithHTTPClient(&http.Client{Transport: slow}))
		got := take(t, len(want), c.Follow(t.Context(), "0", client.EventFilter{}))
		if requests := s.requests(); !slices.Equal(got, want) || len(requests) < 3 {
			t.Errorf("with %d requests: delivered %v, want %v", len(requests), got, want)
		}
	})
}
