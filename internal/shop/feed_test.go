package shop_test

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/shop"
)

// alone runs a test with a shop on a file, by a clock of its own.
func alone(t *testing.T, test func(t *testing.T, s *shop.Service)) {
	path := filepath.Join(t.TempDir(), "test.db")
	synctest.Test(t, func(t *testing.T) {
		store := openStoreAt(t, path)
		defer store.Close()
		s, err := shop.Open(t.Context(), store, shop.Options{})
		if err != nil {
			t.Fatal(err)
		}
		test(t, s)
	})
}

// work lets a shop do its work until it is told to stop, and waits until that has begun.
func work(t *testing.T, s *shop.Service) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { s.RunJobs(ctx, func(err error) { t.Error(err) }) })
	time.Sleep(time.Second)
	return func() { cancel(); wg.Wait() }
}

// Whoever follows hears of every change soon, also of one that comes while it has not asked for the next yet.
func TestFollowerThatIsBusy(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, s *shop.Service) {
		defer work(t, s)()
		happen := func(name string) {
			if _, err := s.CreatePet(t.Context(), shop.NewPet{Name: name, CategoryID: 1}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond) // by the clock of the test
		}
		begin, news := time.Now(), s.EventSignal()
		happen("Rex") // events 1 and 2
		<-news
		happen("Luna")
		if events, reached, err := s.EventsAfter(t.Context(), shop.EventFilter{}, 0); len(events) != 3 || reached != 3 || err != nil {
			t.Errorf("%+v up to %d, %v", events, reached, err)
		}
		news = s.EventSignal()
		happen("Milo")
		<-news
		if took := time.Since(begin); took != 60*time.Millisecond {
			t.Errorf("it took %v, want three times what was waited for", took)
		}
	})
}

// publishings is a store that counts how often it is told to publish.
type publishings struct {
	shop.Store
	n atomic.Int64
}

func (p *publishings) Publish(ctx context.Context) error {
	p.n.Add(1)
	return p.Store.Publish(ctx)
}

// However many changes come at once, they are told together, soon, and also the last of them.
func TestChangesThatComeAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	synctest.Test(t, func(t *testing.T) {
		file := openStoreAt(t, path)
		defer file.Close()
		store := &publishings{Store: file}
		s, err := shop.Open(t.Context(), store, shop.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer work(t, s)()
		s.EventSignal() // somebody follows
		before := store.n.Load()
		for range 20 {
			if _, err := s.CreatePet(t.Context(), shop.NewPet{Name: "Rex", CategoryID: 1}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		time.Sleep(20 * time.Millisecond)
		if n := store.n.Load() - before; n < 1 || n > 3 {
			t.Errorf("20 changes were told in %d turns", n)
		}
		if _, reached, err := s.EventsAfter(t.Context(), shop.EventFilter{}, 0); reached != 21 || err != nil {
			t.Errorf("after 20 ms the events up to %d are told, %v", reached, err)
		}
	})
}

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
		happen := func(name string) {
			if _, err := other.CreatePet(t.Context(), shop.NewPet{Name: name, CategoryID: 1}); err != nil {
				t.Fatal(err)
			}
		}
		awake := work(t, node)
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
		awake = work(t, node)
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
	alone(t, func(t *testing.T, s *shop.Service) {
		want := func(when string) {
			if events, reached, err := s.EventsAfter(t.Context(), shop.EventFilter{}, 1000); len(events) != 0 || reached != 1000 || err != nil {
				t.Errorf("%s: %+v up to %d, %v", when, events, reached, err)
			}
		}
		if _, err := s.CreatePet(t.Context(), shop.NewPet{Name: "Rex", CategoryID: 1}); err != nil {
			t.Fatal(err)
		}
		want("from the store")
		defer work(t, s)()
		want("from memory")
	})
}
