package shop_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// wantEvents checks how many events come after a position in one batch, and the position that this batch reaches.
func wantEvents(t *testing.T, s *shop.Service, after int64, wantEvents int, wantReached int64) {
	t.Helper()
	events, reached, err := s.EventsAfter(t.Context(), shop.Caller{}, shop.EventFilter{}, after)
	if err != nil || len(events) != wantEvents || reached != wantReached {
		t.Errorf("after %d come %+v up to %d (%v), want %d events up to %d", after, events, reached, err, wantEvents, wantReached)
	}
}

// A reader that follows the feed gets every event soon, even one that is added while the reader is not waiting. A
// reader at a position beyond the last event stays there, whether it reads from the feed or from the store.
func TestFollowerMissesNoEvent(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		wantEvents(t, s.Service, 1000, 0, 1000)
		defer runJobs(t, s.Service)()
		addPet := func(name string) {
			s.AddPet(t, name, 1, "")
			time.Sleep(20 * time.Millisecond)
		}
		start, signal := time.Now(), s.EventSignal()
		addPet("Rex") // adds events 1 and 2
		<-signal
		addPet("Luna")
		wantEvents(t, s.Service, 0, 3, 3)
		signal = s.EventSignal()
		addPet("Milo")
		<-signal
		equal(t, "the time until three events were seen", time.Since(start), 60*time.Millisecond)
		wantEvents(t, s.Service, 1000, 0, 1000)
	})
}

// Changes in quick succession are published together, and the last change is published without a long delay.
func TestChangesInQuickSuccessionArePublishedTogether(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, open *shoptest.Shop) {
		store, published := hook(open.Store), atomic.Int64{}
		store.beforePublish = func() { published.Add(1) }
		s := must(shop.Open(t.Context(), store, shop.Options{}))(t)
		defer runJobs(t, s)()
		s.EventSignal() // the feed now counts as having a reader
		published.Store(0)
		for range 20 {
			must(s.CreatePet(t.Context(), shop.Caller{}, shop.NewPet{Name: "Rex", CategoryID: 1}))(t)
			synctest.Wait()
		}
		time.Sleep(20 * time.Millisecond)
		if n := published.Load(); n < 1 || n > 3 {
			t.Errorf("20 changes were published in %d steps", n)
		}
		wantEvents(t, s, 0, 21, 21)
	})
}

// A node that was stopped for longer than the event retention has missed events. A reader on this node must
// get events_expired. It must not get the later events as if it had missed nothing.
func TestNodeThatMissedEventsReportsExpiry(t *testing.T) {
	options := shop.Options{EventRetention: time.Hour}
	inVirtualTime(t, options, func(t *testing.T, other *shoptest.Shop) {
		node := must(other.Node(t.Context(), options))(t)
		stop := runJobs(t, node)
		other.AddPet(t, "Rex", 1, "") // adds events 1 and 2
		time.Sleep(time.Second)
		wantEvents(t, node, 0, 2, 2)
		stop()
		other.AddPet(t, "Luna", 1, "") // adds event 3, which the stopped node never sees
		time.Sleep(2 * time.Hour)
		check(t, other.RemoveEvents(t.Context()))
		other.AddPet(t, "Milo", 1, "")
		defer runJobs(t, node)()
		_, _, err := node.EventsAfter(t.Context(), shop.Caller{}, shop.EventFilter{}, 2)
		wantCode(t, err, shop.EventsExpired)
		wantEvents(t, node, 3, 1, 4)
	})
}
