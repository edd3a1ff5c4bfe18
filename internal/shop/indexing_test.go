package shop_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A store may have many animals that are not indexed yet, for example after an upgrade from an earlier version. They
// are indexed in several runs of the job, which reports its progress. A few new animals are indexed without a
// report.
func TestIndexingReportsItsProgress(t *testing.T) {
	t.Parallel()
	var reports []shop.IndexProgress
	s := shoptest.Open(t, shoptest.Options{Options: shop.Options{OnIndexing: func(p shop.IndexProgress) { reports = append(reports, p) }}})
	s.AddPet(t, "Rex", 1, "")
	check(t, s.IndexSearch(t.Context()))
	check(t, s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
		_, err := tx.InsertPets(slices.Repeat([]shop.NewPet{{Name: "x", CategoryID: 1}}, 155_000)...)
		return err
	}))
	for range 3 {
		check(t, s.IndexSearch(t.Context()))
	}
	if want := []shop.IndexProgress{{Indexed: 153_599, Left: 1_402}, {Indexed: 155_001}}; !slices.Equal(reports, want) {
		t.Errorf("reported %+v, want %+v", reports, want)
	}
	equal(t, "the progress", s.IndexProgress(), shop.IndexProgress{Indexed: 155_001})
}

// busyStore is a store in which each transaction of IndexSearch takes 10 ms and reports whether other writes are
// waiting.
type busyStore struct {
	shop.Store
	steps      atomic.Int64 // the number of transactions that are still needed
	othersWait bool
}

func newBusyStore(store shop.Store, steps int64, othersWait bool) *busyStore {
	busy := &busyStore{Store: store, othersWait: othersWait}
	busy.steps.Store(steps)
	return busy
}

type busyTx struct {
	shop.WriteTx
	store *busyStore
}

func (s *busyStore) Write(ctx context.Context, w shop.Writing, fn func(shop.WriteTx) error) error {
	return s.Store.Write(ctx, w, func(tx shop.WriteTx) error { return fn(busyTx{tx, s}) })
}

func (tx busyTx) IndexSearch(unfinished shop.IndexBatch) (shop.IndexResult, error) {
	time.Sleep(10 * time.Millisecond)
	return shop.IndexResult{More: tx.store.steps.Add(-1) > 0, OthersWait: tx.store.othersWait}, nil
}

// If other writes are waiting, IndexSearch pauses after each transaction for three times as long as the transaction
// took.
func TestIndexingLetsOtherWritesGoFirst(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		s.AddPet(t, "Rex", 1, "")
		for othersWait, want := range map[bool]time.Duration{false: 30 * time.Millisecond, true: 120 * time.Millisecond} {
			service := must(shop.Open(t.Context(), newBusyStore(s.Store, 3, othersWait), shop.Options{Environment: shop.Production}))(t)
			start := time.Now()
			check(t, service.IndexSearch(t.Context()))
			equal(t, "the time for three transactions", time.Since(start), want)
		}
	})
}

// When the program ends, the current run of IndexSearch ends without another pause or transaction. The job then runs
// one last time, with only one transaction.
func TestIndexingDoesNotDelayTheEnd(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		s.AddPet(t, "Rex", 1, "")
		store := newBusyStore(s.Store, 1000, true)
		service := must(shop.Open(t.Context(), store, shop.Options{Environment: shop.Production}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		var jobs sync.WaitGroup
		jobs.Go(func() { service.RunJobs(ctx, func(err error) { t.Error(err) }) })
		time.Sleep(2015 * time.Millisecond) // the first run starts after two seconds and begins to pause 10 ms later
		cancel()
		jobs.Wait()
		equal(t, "the number of transactions", 1000-store.steps.Load(), 2)
	})
}

// If there is more to index after a run, the next run starts at once instead of at the next interval.
func TestIndexingGoesOnWhileThereIsMore(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		s.AddPet(t, "Rex", 1, "")
		store := newBusyStore(s.Store, 50, false) // 50 transactions take three runs
		service := must(shop.Open(t.Context(), store, shop.Options{Environment: shop.Production}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		var jobs sync.WaitGroup
		jobs.Go(func() { service.RunJobs(ctx, func(err error) { t.Error(err) }) })
		time.Sleep(2900 * time.Millisecond) // the first run starts after two seconds
		if left := store.steps.Load(); left > 0 {
			t.Errorf("%d transactions are left", left)
		}
		cancel()
		jobs.Wait()
	})
}
