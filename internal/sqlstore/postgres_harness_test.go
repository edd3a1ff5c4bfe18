package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// shortBudget is the retry budget for stores that a test expects to give up.
const shortBudget = time.Second

// faultHarness has a store that reaches its database through a proxy. It also has a direct connection, which
// shows what the database really contains.
type faultHarness struct {
	*testing.T
	store     *Store
	proxy     *pgtest.Proxy
	direct    *pgtest.DB
	ungrouped bool // if true, write never uses a group
}

func newFaultHarness(t *testing.T, database string) *faultHarness {
	t.Helper()
	proxy := pgtest.StartProxy(t, database)
	return &faultHarness{T: t, store: open(t, proxy.URL(), Options{}), proxy: proxy, direct: pgtest.Connect(t, database)}
}

func postgresOf(store *Store) *postgresEngine { return store.engine.(*postgresEngine) }

func (h *faultHarness) setBudget(d time.Duration) { postgresOf(h.store).retryBudget = d }

// setOption changes an option of the database. The option applies only to new connections, so setOption makes the store
// open new ones.
func (h *faultHarness) setOption(option string) {
	h.Helper()
	h.direct.Do("ALTER DATABASE " + h.direct.Name() + " " + option)
	h.proxy.Cut()
	h.proxy.Heal()
}

// write adds an animal to category 1. It uses a group, unless h.ungrouped is set or the category does not exist yet.
func (h *faultHarness) write(name string) error {
	if h.ungrouped {
		return h.store.Write(context.Background(), shop.Writing{}, adding(name))
	}
	return h.store.Write(context.Background(), inCategoryOne, adding(name))
}

// inCategoryOne is a write that adds one animal to category 1.
var inCategoryOne = shop.Writing{Rows: &shop.WriteSet{Categories: []int64{1}}}

// startWrite runs write in the background. It returns a function that waits for the outcome.
func (h *faultHarness) startWrite(name string) (outcome func() error) {
	h.Helper()
	var err error
	var running sync.WaitGroup
	running.Go(func() { err = h.write(name) })
	h.Cleanup(running.Wait)
	return func() error {
		running.Wait()
		return err
	}
}

// startWriteWithShortBudget is like startWrite but uses a short retry budget. It returns when the COMMIT has
// been sent. On a busy machine, the budget may be spent before that. In this case nothing has been written,
// and the write is started again.
func (h *faultHarness) startWriteWithShortBudget(name string, sent <-chan struct{}) (outcome func() error) {
	h.Helper()
	h.setBudget(shortBudget)
	for end := time.Now().Add(2 * ample); time.Now().Before(end); {
		outcome = h.startWrite(name)
		refused := make(chan struct{})
		go func() {
			defer close(refused)
			if errors.Is(outcome(), errUnknown) {
				<-sent
			}
		}()
		select {
		case <-sent:
		case <-refused:
		}
		select {
		case <-sent: // the COMMIT may have been sent before the write was refused
			return outcome
		default:
		}
	}
	h.Fatal("no COMMIT was sent")
	return nil
}

// read returns the number of animals with the given name that the store finds.
func (h *faultHarness) read(name string) (n int, err error) {
	err = h.store.Read(context.Background(), shop.Reading{}, func(tx shop.ReadTx) error {
		page, err := tx.SearchPets(shop.PetList{PetFilter: shop.PetFilter{Query: name}, PageRequest: shop.PageRequest{Limit: 100}})
		n = len(page.Items)
		return err
	})
	return n, err
}

// works checks that the store can write an animal and read it back.
func (h *faultHarness) works(name string) {
	h.Helper()
	h.setBudget(ample)
	if err := h.write(name); err != nil {
		h.Errorf("writing %s: %v", name, err)
	}
	if n, err := h.read(name); err != nil || n != 1 {
		h.Errorf("reading %s: %d, %v", name, n, err)
	}
}

// checkOutcomes waits until the store has no open transaction. Then it checks that every animal whose write succeeded
// is stored once and that every stored animal was written by the test. Failed writes must have failed with an
// "unavailable" error. checkOutcomes returns the names that are stored.
func checkOutcomes(t *testing.T, direct *pgtest.DB, outcomes map[string]error) (found map[string]bool) {
	t.Helper()
	direct.AwaitNoTransaction()
	found = map[string]bool{}
	for _, name := range pgtest.Column[string](direct, "SELECT name FROM pets") {
		if _, known := outcomes[name]; !known || found[name] {
			t.Errorf("%s is stored; it was written by the test: %v; it is stored twice: %v", name, known, found[name])
		}
		found[name] = true
	}
	for name, err := range outcomes {
		if err == nil && !found[name] {
			t.Errorf("%s was written, and is missing", name)
		}
		if err != nil {
			wantUnavailable(t, name, err)
		}
	}
	// The inventory differs from the number of animals if some part of a write was not applied, or was applied twice.
	inventory := "SELECT sum(available + pending + sold + unspecified) FROM " + PostgresCounts.Inventory
	if counted := pgtest.Value[int](direct, inventory); counted != len(found) {
		t.Errorf("there are %d animals, and the inventory has %d", len(found), counted)
	}
	return found
}

// writers is a set of goroutines that add animals with distinct names until stop is called.
type writers struct {
	running sync.WaitGroup
	ended   atomic.Bool
	done    atomic.Int64 // the number of successful writes

	mu       sync.Mutex
	outcomes map[string]error
}

func startWriters(n int, store *Store) *writers {
	w := &writers{outcomes: map[string]error{}}
	for i := range n {
		w.running.Go(func() {
			for j := 0; !w.ended.Load(); j++ {
				name := fmt.Sprintf("%d of writer %d", j, i)
				err := store.Write(context.Background(), shop.Writing{}, adding(name))
				if err == nil {
					w.done.Add(1)
				}
				w.mu.Lock()
				w.outcomes[name] = err
				w.mu.Unlock()
			}
		})
	}
	return w
}

// awaitMore waits until n more writes have succeeded.
func (w *writers) awaitMore(t *testing.T, n int64) {
	t.Helper()
	target := w.done.Load() + n
	pgtest.Await(t, "more writes to succeed", func() bool { return w.done.Load() >= target })
}

func (w *writers) stop() map[string]error {
	w.ended.Store(true)
	w.running.Wait()
	return w.outcomes
}
