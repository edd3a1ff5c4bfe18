package sqlstore

import (
	"errors"
	"sync"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// Every write that changes the catalogue increments the version before the write returns, even if the write
// fails. No other write increments the version.
func TestEveryCatalogChangeBumpsTheVersion(t *testing.T) {
	t.Parallel()
	store := open(t, newFile(t), Options{Exclusive: true})
	moment := func() int64 {
		t.Helper()
		m, ok := store.CatalogVersion()
		if !ok || m.Time.IsZero() {
			t.Fatalf("%+v %v", m, ok)
		}
		return m.Changes
	}
	write := func(fn func(shop.WriteTx) error) error { return store.Write(t.Context(), fn) }
	rex := shop.Pet{ID: 1, Name: "Rex", CategoryID: 1}
	luna := shop.Pet{ID: 1, Name: "Luna", CategoryID: 1}
	for name, c := range map[string]struct {
		fn      func(shop.WriteTx) error
		counted bool
	}{
		"1 added":   {adding("Rex"), true},
		"2 renamed": {func(tx shop.WriteTx) error { return tx.UpdatePet(rex, luna) }, true},
		"3 removed": {func(tx shop.WriteTx) error { return tx.DeletePet(luna) }, true},
		"an event":  {telling("pets/1"), false},
		"a failure": {func(tx shop.WriteTx) error { return errors.Join(adding("Max")(tx), errors.New("on purpose")) }, true},
		"a setting": {func(tx shop.WriteTx) error { return tx.SetEnvironment(shop.Staging) }, false},
	} {
		before := moment()
		err := write(c.fn)
		if after := moment(); (after != before) != c.counted {
			t.Errorf("%s: from %d to %d (%v)", name, before, after, err)
		}
	}
}

// When a wake-up arrives, the version has been incremented and the written data is readable, even if the
// write has not returned yet.
func TestVersionIsBumpedBeforeTheWakeup(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	notices := store.Wakeups()
	for n := range 100 {
		before, _ := store.CatalogVersion()
		var write sync.WaitGroup
		write.Go(func() {
			if err := store.Write(t.Context(), adding("Rex")); err != nil {
				t.Error(err)
			}
		})
		<-notices
		after, _ := store.CatalogVersion()
		_, pets, _ := totals(t, store)
		write.Wait()
		if after.Changes == before.Changes || pets != int64(n+1) {
			t.Fatalf("change %d: %d are counted as they were, and there are %d animals", n, after.Changes, pets)
		}
	}
}

// Changes to orders and changes to pets are counted separately.
func TestOrderChangesHaveTheirOwnVersion(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addPets(t, store, 1)
	count := func() int64 {
		m, _ := store.CatalogVersion()
		return m.Orders
	}
	var order shop.Order
	for _, c := range []struct {
		name    string
		fn      func(shop.WriteTx) error
		counted bool
	}{
		{"placed", func(tx shop.WriteTx) (err error) {
			order, err = tx.InsertOrder(shop.Order{PetID: 1, Status: shop.Placed, CreatedAt: time.Now(), UpdatedAt: time.Now(), HoldExpiresAt: time.Now()})
			return err
		}, true},
		{"an animal", adding("Rex"), false},
		{"ended", func(tx shop.WriteTx) error {
			after := order
			after.Status, after.HoldExpiresAt = shop.Cancelled, time.Time{}
			return tx.UpdateOrder(order, after)
		}, true},
	} {
		before := count()
		if err := store.Write(t.Context(), c.fn); err != nil {
			t.Fatal(c.name, err)
		}
		if after := count(); (after != before) != c.counted {
			t.Errorf("%s: from %d to %d", c.name, before, after)
		}
	}
}

// The catalogue has no version if other processes may change it. This is always the case on a PostgreSQL
// server.
func TestSharedCatalogHasNoVersion(t *testing.T) {
	t.Parallel()
	for _, store := range []*Store{
		open(t, newFile(t), Options{}),
		open(t, newDatabase(t), Options{Exclusive: true}),
	} {
		if m, ok := store.CatalogVersion(); ok {
			t.Errorf("%+v", m)
		}
	}
}
