package shop_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// inVirtualTime runs a test in virtual time with a shop of its own.
func inVirtualTime(t *testing.T, o shop.Options, test func(t *testing.T, s *shoptest.Shop)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, shoptest.Open(t, shoptest.Options{Options: o})) })
}

// runJobs runs the shop's background jobs until stop is called. It returns after the jobs have started.
func runJobs(t *testing.T, s *shop.Service) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { s.RunJobs(ctx, func(err error) { t.Error(err) }) })
	time.Sleep(time.Second)
	return func() { cancel(); wg.Wait() }
}

// A reader that follows the feed gets every event soon, even an event that is added while the reader is not
// waiting.
func TestFollowerMissesNoEvent(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		defer runJobs(t, s.Service)()
		addPet := func(name string) {
			s.AddPet(t, name, 1, "")
			time.Sleep(20 * time.Millisecond)
		}
		start, signal := time.Now(), s.EventSignal()
		addPet("Rex") // adds events 1 and 2
		<-signal
		addPet("Luna")
		if events, reached, err := s.EventsAfter(t.Context(), shop.EventFilter{}, 0); len(events) != 3 || reached != 3 || err != nil {
			t.Errorf("%+v up to %d, %v", events, reached, err)
		}
		signal = s.EventSignal()
		addPet("Milo")
		<-signal
		if took := time.Since(start); took != 60*time.Millisecond {
			t.Errorf("took %v, want three times 20 ms", took)
		}
	})
}

// publishCounter is a store that counts how often Publish is called.
type publishCounter struct {
	shop.Store
	n atomic.Int64
}

func (p *publishCounter) Publish(ctx context.Context) error {
	p.n.Add(1)
	return p.Store.Publish(ctx)
}

// Changes in quick succession are published together, and the last one is published soon.
func TestChangesInQuickSuccessionArePublishedTogether(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, open *shoptest.Shop) {
		store := &publishCounter{Store: open.Store}
		s, err := shop.Open(t.Context(), store, shop.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer runJobs(t, s)()
		s.EventSignal() // makes the feed count as having a reader
		before := store.n.Load()
		for range 20 {
			if _, err := s.CreatePet(t.Context(), shop.NewPet{Name: "Rex", CategoryID: 1}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		time.Sleep(20 * time.Millisecond)
		if n := store.n.Load() - before; n < 1 || n > 3 {
			t.Errorf("20 changes were published in %d steps", n)
		}
		if _, reached, err := s.EventsAfter(t.Context(), shop.EventFilter{}, 0); reached != 21 || err != nil {
			t.Errorf("after 20 ms the feed has reached %d, %v", reached, err)
		}
	})
}

// A node that was stopped for longer than the event retention has missed events. A reader on this node must
// get events_expired. It must not get the later events as if it had missed nothing.
func TestNodeThatMissedEventsReportsExpiry(t *testing.T) {
	options := shop.Options{EventRetention: time.Hour}
	inVirtualTime(t, options, func(t *testing.T, other *shoptest.Shop) {
		node, err := other.Node(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		stop := runJobs(t, node)
		other.AddPet(t, "Rex", 1, "") // adds events 1 and 2
		time.Sleep(time.Second)
		if events, reached, err := node.EventsAfter(t.Context(), shop.EventFilter{}, 0); len(events) != 2 || reached != 2 || err != nil {
			t.Fatalf("%+v up to %d, %v", events, reached, err)
		}
		stop()
		other.AddPet(t, "Luna", 1, "") // adds event 3, which the stopped node never sees
		time.Sleep(2 * time.Hour)
		if err := other.RemoveEvents(t.Context()); err != nil {
			t.Fatal(err)
		}
		other.AddPet(t, "Milo", 1, "")
		stop = runJobs(t, node)
		defer stop()
		if events, _, err := node.EventsAfter(t.Context(), shop.EventFilter{}, 2); err == nil || shop.AsError(err).Code != shop.EventsExpired {
			t.Errorf("after 2 comes %+v, %v; want events_expired", events, err)
		}
		if events, reached, err := node.EventsAfter(t.Context(), shop.EventFilter{}, 3); len(events) != 1 || reached != 4 || err != nil {
			t.Errorf("after 3 comes %+v up to %d, %v", events, reached, err)
		}
	})
}

// If a reader's position is beyond the last event, EventsAfter returns the same position. This holds whether
// the events come from the feed or from the store.
func TestPositionBeyondTheLastEventStays(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		want := func(when string) {
			if events, reached, err := s.EventsAfter(t.Context(), shop.EventFilter{}, 1000); len(events) != 0 || reached != 1000 || err != nil {
				t.Errorf("%s: %+v up to %d, %v", when, events, reached, err)
			}
		}
		s.AddPet(t, "Rex", 1, "")
		want("from the store")
		defer runJobs(t, s.Service)()
		want("from the feed")
	})
}
