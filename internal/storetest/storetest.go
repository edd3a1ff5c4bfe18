// Package storetest is the conformance test suite for implementations of shop.Store. It runs on every
// database engine.
package storetest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

// Run runs the conformance test suite. open must return a new, empty store. If now is not nil, the store must use it
// as its clock. open must also close the store when the test case ends.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) shop.Store) {
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"transactions", transactionCases},
		{"pets", petCases},
		{"profiles", profileCases},
		{"photos", photoCases},
		{"orders of profiles", profileOrderCases},
		{"shop window", windowCases},
		{"searches of profiles", profileSearchCases},
		{"searches", searchCases},
		{"backlog of the search index", backlogCases},
		{"imports", importCases},
		{"categories", categoryCases},
		{"orders", orderCases},
		{"customers", customerCases},
		{"keys", keyCases},
		{"sessions", sessionCases},
		{"sign-in links", signInLinkCases},
		{"events", eventCases},
		{"filters of events", eventFilterCases},
		{"webhooks", webhookCases},
		{"deliveries", deliveryCases},
		{"idempotency", idempotencyCases},
		{"clock", clockCases},
		{"counts", countCases},
		{"staff", staffCases},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					if c.clocked != nil {
						clock := &testClock{}
						c.clocked(t, open(t, clock.now), clock)
						return
					}
					c.run(t, open(t, nil))
				})
			}
		})
	}
}

// testCase is a test of a store. Exactly one of run and clocked is set. A test that sets the store's clock uses
// clocked.
type testCase struct {
	name    string
	run     func(t *testing.T, store shop.Store)
	clocked func(t *testing.T, store shop.Store, clock *testClock)
}

// testClock is a clock that stands still until it is set.
type testClock struct{ micros atomic.Int64 }

func (c *testClock) set(at time.Time) { c.micros.Store(at.UnixMicro()) }

func (c *testClock) now() time.Time { return time.UnixMicro(c.micros.Load()) }

func read(t *testing.T, store shop.Store, fn func(shop.ReadTx) error) {
	t.Helper()
	if err := store.Read(t.Context(), shop.Reading{}, fn); err != nil {
		t.Fatalf("read: %v", err)
	}
}

// get calls one method of a read transaction and returns its result.
func get[T any](t *testing.T, store shop.Store, method func(shop.ReadTx) (T, error)) (value T) {
	t.Helper()
	read(t, store, func(tx shop.ReadTx) (err error) {
		value, err = method(tx)
		return err
	})
	return value
}

// wantFound calls one method of a read transaction and compares its result with want. If want is nil, the method must
// find nothing.
func wantFound[T any](
	t *testing.T, store shop.Store, want *T, find func(shop.ReadTx) (T, bool, error), options ...cmp.Option,
) {
	t.Helper()
	read(t, store, func(tx shop.ReadTx) error {
		got, found, err := find(tx)
		if found != (want != nil) {
			t.Errorf("found %v: %+v, want %+v", found, got, want)
		} else if diff := cmp.Diff(want, &got, options...); found && diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		return err
	})
}

func write(t *testing.T, store shop.Store, fn func(shop.WriteTx) error) {
	t.Helper()
	if err := store.Write(t.Context(), shop.Writing{}, fn); err != nil {
		t.Fatalf("write: %v", err)
	}
}

// insertPet inserts an animal in the given transaction. It creates the animal's category if necessary.
func insertPet(tx shop.WriteTx, n shop.NewPet) (shop.Pet, error) {
	if _, err := tx.EnsureCategories(n.CategoryID); err != nil {
		return shop.Pet{}, err
	}
	pets, err := tx.InsertPets(n)
	if err != nil {
		return shop.Pet{}, err
	}
	return pets[0], nil
}

// ensureCategory creates a category in a separate write transaction if the category does not exist. It reports whether
// it has created the category.
func ensureCategory(t *testing.T, store shop.Store, id int64) (created bool) {
	t.Helper()
	write(t, store, func(tx shop.WriteTx) error {
		ids, err := tx.EnsureCategories(id)
		created = len(ids) == 1
		return err
	})
	return created
}

// addPet inserts an animal in a separate write transaction. It creates the animal's category if necessary.
func addPet(t *testing.T, store shop.Store, n shop.NewPet) shop.Pet {
	t.Helper()
	var pet shop.Pet
	write(t, store, func(tx shop.WriteTx) (err error) {
		pet, err = insertPet(tx, n)
		return err
	})
	return pet
}

// listPets returns one page of animals or, if l has a query, all animals that the search finds. The page size is 1000
// if l has no limit.
func listPets(t *testing.T, store shop.Store, l shop.PetList) []shop.Pet {
	t.Helper()
	if l.Limit == 0 {
		l.Limit = 1000
	}
	if l.Query != "" {
		return searchPets(t, store, l)
	}
	return get(t, store, func(tx shop.ReadTx) ([]shop.Pet, error) { return tx.Pets(l) })
}
