package client_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/client"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// history returns the ids of all events so far, oldest first.
func (s *testService) history() (ids []string) {
	s.t.Helper()
	for _, event := range collect(s.t, s.client().Events(s.t.Context(), client.EventQuery{})) {
		ids = append(ids, event.ID)
	}
	s.requests()
	return ids
}

// take reads n events from a follower and returns their ids.
func take(t *testing.T, n int, events iter.Seq2[client.Event, error]) (ids []string) {
	t.Helper()
	for event, err := range events {
		if ids = append(ids, must(event, err)(t).ID); len(ids) == n {
			break
		}
	}
	return ids
}

// lastError reads a sequence until it ends. It returns the number of items and the last error.
func lastError[T any](items iter.Seq2[T, error]) (n int, last error) {
	for _, err := range items {
		if last = err; err == nil {
			n++
		}
	}
	return n, last
}

// Every event is delivered exactly once and in order, no matter at which byte a connection breaks.
func TestFollowCutAtEveryByte(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *testService) {
		s.addPet("Rex") // also creates a category, so there are two events
		want := s.history()
		for n, cut := 0, true; cut; n++ {
			cut = false
			c := s.clientWith(shoptest.AdminKey, func(connection int) int {
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
	inVirtualTime(t, func(t *testing.T, s *testService) {
		const writers, each, readers = 4, 15, 5
		ctx, stop := context.WithCancel(t.Context())
		var group, working sync.WaitGroup
		working.Go(func() { s.shop.RunJobs(ctx, func(err error) { t.Error(err) }) })
		defer func() { stop(); working.Wait() }()
		want := writers*each + 1 // one event per animal, and one for the category that the first animal creates
		delivered := make([][]string, readers)
		for i := range readers {
			c := s.clientWith(shoptest.AdminKey, func(int) int { return rand.N(4000) })
			group.Go(func() { delivered[i] = take(t, want, c.Follow(ctx, "0", client.EventFilter{})) })
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
		history := s.history()
		for _, got := range delivered {
			if !slices.Equal(got, history) {
				t.Errorf("delivered %v, want %v", got, history)
			}
		}
	})
}

// Without a start position, a follower starts with the first event after it has connected, even in an empty
// store. It keeps its position if the connection breaks before the first event.
func TestFollowFromNowOn(t *testing.T) {
	for _, before := range []int{0, 2} {
		t.Run(fmt.Sprint("after ", before, " animals"), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, s *testService) {
				for range before {
					s.addPet("Rex")
				}
				earlier := len(s.history())
				var got []string
				var group sync.WaitGroup
				group.Go(func() { got = take(t, 2, s.client().Follow(t.Context(), "", client.EventFilter{})) })
				synctest.Wait() // wait until the follower is waiting for events
				s.cut()
				s.addPet("Mia") // happens before the follower has reconnected
				time.Sleep(time.Minute)
				s.cut()
				s.addPet("Max")
				group.Wait()
				if want := s.history()[earlier:][:2]; !slices.Equal(got, want) {
					t.Errorf("delivered %v, want %v", got, want)
				}
			})
		})
	}
}

func TestLastEventID(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *testService) {
		wantEqual(t, "last event", must(s.client().LastEventID(t.Context()))(t), "0")
		s.addPet("Rex")
		history := s.history()
		last := must(s.client().LastEventID(t.Context()))(t)
		wantEqual(t, "last event", last, history[len(history)-1])
		for _, broken := range []fault{stream("retry: 1\n"), goIdle(":\n\n")} {
			s.inject(broken, broken, broken)
			if got, err := s.client(client.WithRetries(1)).LastEventID(t.Context()); err == nil || len(s.requests()) != 2 {
				t.Errorf("got %q, %v", got, err)
			}
		}
		s.inject()
		s.addPet("Mia") // an event after LastEventID was called must not be missed
		if got, want := take(t, 1, s.client().Follow(t.Context(), last, client.EventFilter{})), s.history()[len(history):]; !slices.Equal(got, want) {
			t.Errorf("delivered %v, want %v", got, want)
		}
	})
}

// A stream without events stays connected for longer than the timeout for a call and longer than the idle
// timeout.
func TestFollowStaysConnectedWithoutEvents(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *testService) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		n, err := lastError(s.client().Follow(ctx, "", client.EventFilter{}))
		if requests := s.requests(); n != 0 || !errors.Is(err, context.DeadlineExceeded) || len(requests) != 1 {
			t.Errorf("ended with %v after %d events and %d requests", err, n, len(requests))
		}
	})
}

// A slow caller misses no events, even though the service drops its connection.
func TestFollowSlowCaller(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *testService) {
		for range 60 {
			s.addPet("Rex")
		}
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

// If events were deleted, the caller gets an error and can continue with the events that are still available.
func TestFollowReportsExpiredEvents(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *testService) {
		for range 3 {
			s.addPet("Rex")
		}
		old := s.history()
		time.Sleep(2 * time.Hour)
		if err := s.shop.RemoveEvents(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.client().ListEvents(t.Context(), client.EventQuery{After: "1"})
		wantCode(t, err, client.CodeEventsExpired)
		s.addPet("Mia")
		var got []string
		for event, err := range s.client().Follow(t.Context(), "1", client.EventFilter{}) {
			if err == nil {
				got = append(got, event.ID)
				break
			}
			reset, ok := errors.AsType[*client.ResetError](err)
			if wantCode(t, err, client.CodeEventsExpired); !ok || reset.After != old[len(old)-1] || len(got) != 0 {
				t.Fatalf("after %v: %v", got, err)
			}
			s.cut() // the follower must keep the new position when it reconnects
			got = append(got, "reset")
		}
		if want := append([]string{"reset"}, s.history()...); !slices.Equal(got, want) {
			t.Errorf("delivered %v, want %v", got, want)
		}
	}, func(o *shop.Options) { o.EventRetention = time.Hour })
}

// The limits that the client documents are those of the service.
func TestImportLimits(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *testService) {
		_, err := s.client().ImportFile(t.Context(), client.CSV, make([]byte, client.MaxImportSize+1))
		wantCode(t, err, client.CodePayloadTooLarge)
		_, err = s.client().ImportPets(t.Context(), make([]client.NewPet, client.MaxImport+1))
		wantCode(t, err, client.CodePayloadTooLarge)
	})
}

// With many clients on a faulty network, every call that succeeds takes effect exactly once, and nothing else
// changes.
func TestConcurrentClientsOnAFaultyNetwork(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *testService) {
		c := s.client(client.WithRetries(20))
		var faults []fault
		for range 250 {
			faults = append(faults, passThrough)
			if rand.N(4) == 0 {
				faults = append(faults, []fault{dropRequest, dropResponse, cutResponse, proxyError(502)}[rand.N(4)])
			}
		}
		s.inject(faults...)
		const clients, each = 8, 10
		var group sync.WaitGroup
		for i := range clients {
			group.Go(func() {
				for j := range each {
					name := fmt.Sprintf("%d of %d", j, i)
					pet, err := c.CreatePet(t.Context(), client.NewPet{Name: name, CategoryID: 1, Status: client.PetAvailable})
					if err != nil || pet.Name != name {
						t.Errorf("%s: got %+v, %v", name, pet, err)
						return
					}
					if _, err := c.PlaceOrder(t.Context(), client.NewOrder{PetID: pet.ID, Reference: name}); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		}
		group.Wait()
		s.inject()
		wantEqual(t, "inventory", must(c.Inventory(t.Context()))(t), client.Inventory{Pending: clients * each})
		references := map[string]bool{}
		for _, order := range collect(t, c.Orders(t.Context(), client.OrderQuery{})) {
			if references[order.Reference] {
				t.Errorf("%s was ordered twice", order.Reference)
			}
			references[order.Reference] = true
		}
		wantEqual(t, "orders", len(references), clients*each)
	})
}
