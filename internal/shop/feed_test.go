package shop_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/shop"
)

// A node that was away for longer than events are kept has missed some for ever. Whoever followed there is told so, and is not
// shown what came later as if it were the next.
func TestNodeThatWasAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	synctest.Test(t, func(t *testing.T) {
		store := openStoreAt(t, path)
		defer store.Close()
		open := func() *shop.Service {
			s, err := shop.Open(t.Context(), store, shop.Options{EventRetention: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		node, other := open(), open()
		work := func() (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() { node.Work(ctx, func(err error) { t.Error(err) }) })
			time.Sleep(time.Second)
			return func() { cancel(); wg.Wait() }
		}
		happen := func(name string) {
			if _, err := other.CreatePet(t.Context(), shop.NewPet{Name: name, CategoryID: 1}); err != nil {
				t.Fatal(err)
			}
		}
		awake := work()
		happen("Rex") // events 1 and 2
		time.Sleep(time.Second)
		if events, reached, err := node.EventsAfter(t.Context(), shop.EventFilter{}, 0); len(events) != 2 || reached != 2 || err != nil {
			t.Fatalf("%+v up to %d, %v", events, reached, err)
		}
		awake()
		happen("Luna") // event 3, which the node never sees
		time.Sleep(2 * time.Hour)
		if err := other.RemoveEvents(t.Context()); err != nil {
			t.Fatal(err)
		}
		happen("Milo")
		awake = work()
		defer awake()
		if events, _, err := node.EventsAfter(t.Context(), shop.EventFilter{}, 2); err == nil || shop.AsError(err).Code != shop.EventsExpired {
			t.Errorf("after 2 comes %+v, %v; want to hear that 3 has expired", events, err)
		}
		if events, reached, err := node.EventsAfter(t.Context(), shop.EventFilter{}, 3); len(events) != 1 || reached != 4 || err != nil {
			t.Errorf("after 3 comes %+v up to %d, %v", events, reached, err)
		}
	})
}

// A place beyond the end is kept, also by a node that has nothing in memory: what comes before it was not asked for.
func TestPlaceBeyondTheEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	synctest.Test(t, func(t *testing.T) {
		store := openStoreAt(t, path)
		defer store.Close()
		s, err := shop.Open(t.Context(), store, shop.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := func(when string) {
			if events, reached, err := s.EventsAfter(t.Context(), shop.EventFilter{}, 1000); len(events) != 0 || reached != 1000 || err != nil {
				t.Errorf("%s: %+v up to %d, %v", when, events, reached, err)
			}
		}
		if _, err := s.CreatePet(t.Context(), shop.NewPet{Name: "Rex", CategoryID: 1}); err != nil {
			t.Fatal(err)
		}
		want("from the store")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { s.Work(ctx, func(err error) { t.Error(err) }) })
		time.Sleep(time.Second)
		want("from memory")
		cancel()
		wg.Wait()
	})
}
