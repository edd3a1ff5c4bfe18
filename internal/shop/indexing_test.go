package shop_test

import (
	"context"
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
	// The index has an entry for each letter of a name, so a name of many letters takes long.
	const many = 1000
	pets := make([]shop.NewPet, many)
	for i := range pets {
		name := make([]rune, 60)
		for j := range name {
			name[j] = '一' + rune((i*7919+j*37)%20_000)
		}
		pets[i] = shop.NewPet{Name: string(name), CategoryID: 1}
	}
	check(t, s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
		_, err := tx.InsertPets(pets...)
		return err
	}))
	for range 50 { // a run that has nothing to do reports nothing
		check(t, s.IndexSearch(t.Context()))
	}
	if len(reports) < 2 {
		t.Fatalf("reported %+v, want a report while animals are left, and one at the end", reports)
	}
	for i, p := range reports {
		if p.Indexed < 2 || p.Indexed+p.Left != many+1 || (p.Left == 0) != (i == len(reports)-1) {
			t.Errorf("report %d of %d is %+v, want some of %d animals, and at last all", i+1, len(reports), p, many+1)
		}
	}
	equal(t, "the progress", s.IndexProgress(), shop.IndexProgress{Indexed: many + 1})
}

// busyStore is a store in which each transaction of IndexSearch takes 10 ms.
type busyStore struct {
	shop.Store
	steps atomic.Int64 // the number of transactions that are still needed
}

func newBusyStore(store shop.Store, steps int64) *busyStore {
	busy := &busyStore{Store: store}
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
	return shop.IndexResult{More: tx.store.steps.Add(-1) > 0}, nil
}

// When the program ends, the current run of IndexSearch ends without another transaction. The job then runs one last
// time, with only one transaction.
func TestIndexingDoesNotDelayTheEnd(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		s.AddPet(t, "Rex", 1, "")
		store := newBusyStore(s.Store, 1000)
		service := must(shop.Open(t.Context(), store, shop.Options{Environment: shop.Production}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		var jobs sync.WaitGroup
		jobs.Go(func() { service.RunJobs(ctx, func(err error) { t.Error(err) }) })
		time.Sleep(505 * time.Millisecond) // the first run starts after half a second
		cancel()
		jobs.Wait()
		equal(t, "the number of transactions", 1000-store.steps.Load(), 2)
	})
}

// If there is more to index after a run, the next run starts at once instead of at the next interval.
func TestIndexingGoesOnWhileThereIsMore(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		s.AddPet(t, "Rex", 1, "")
		store := newBusyStore(s.Store, 50) // 50 transactions take three runs
		service := must(shop.Open(t.Context(), store, shop.Options{Environment: shop.Production}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		var jobs sync.WaitGroup
		jobs.Go(func() { service.RunJobs(ctx, func(err error) { t.Error(err) }) })
		time.Sleep(1200 * time.Millisecond) // the first run starts after half a second
		if left := store.steps.Load(); left > 0 {
			t.Errorf("%d transactions are left", left)
		}
		cancel()
		jobs.Wait()
	})
}
