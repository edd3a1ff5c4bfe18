package sqlstore

import (
	"errors"
	"sync"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// Every write that changes pets or orders increments their own version before the write returns, even if it
// fails. No other write increments a version.
func TestEveryCatalogChangeBumpsTheVersion(t *testing.T) {
	t.Parallel()
	store, onPurpose := openNew(t), errors.New("on purpose")
	rex, luna := shop.Pet{ID: 1, Name: "Rex", CategoryID: 1}, shop.Pet{ID: 1, Name: "Luna", CategoryID: 1}
	placed := shop.Order{ID: 1, PetID: 7, Status: shop.Placed, CreatedAt: time.Now(), UpdatedAt: time.Now(), HoldExpiresAt: time.Now()}
	cancelled := placed
	cancelled.Status, cancelled.HoldExpiresAt = shop.Cancelled, time.Time{}
	for _, c := range []struct {
		name         string
		fn           func(shop.WriteTx) error
		pets, orders bool
		want         error
	}{
		{"added", adding("Rex"), true, false, nil},
		{"renamed", func(tx shop.WriteTx) error { return tx.UpdatePet(rex, luna) }, true, false, nil},
		{"removed", func(tx shop.WriteTx) error { return tx.DeletePet(luna) }, true, false, nil},
		{"an event", telling("pets/1"), false, false, nil},
		{"a failure", func(tx shop.WriteTx) error { return errors.Join(adding("Max")(tx), onPurpose) }, true, false, onPurpose},
		{"a setting", func(tx shop.WriteTx) error { return tx.SetEnvironment(shop.Staging) }, false, false, nil},
		{"placed", func(tx shop.WriteTx) error { _, err := tx.InsertOrder(placed); return err }, false, true, nil},
		{"cancelled", func(tx shop.WriteTx) error { return tx.UpdateOrder(placed, cancelled) }, false, true, nil},
	} {
		before, _ := store.CatalogVersion()
		err := store.Write(t.Context(), c.fn)
		after, ok := store.CatalogVersion()
		if pets, orders := after.Changes != before.Changes, after.Orders != before.Orders; pets != c.pets || orders != c.orders {
			t.Errorf("%s: from %+v to %+v, want changes of pets %v, of orders %v", c.name, before, after, c.pets, c.orders)
		}
		if !ok || after.Time.IsZero() || !errors.Is(err, c.want) {
			t.Errorf("%s: %+v %v, %v", c.name, after, ok, err)
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

// The catalogue has no version if other processes may change it. This is always the case on a PostgreSQL
// server.
func TestSharedCatalogHasNoVersion(t *testing.T) {
	t.Parallel()
	for _, store := range []*Store{open(t, newFile(t), Options{}), open(t, newDatabase(t), Options{Exclusive: true})} {
		if m, ok := store.CatalogVersion(); ok {
			t.Errorf("%+v", m)
		}
	}
}
