package sqlstore

import (
	"sync"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// While a transaction has locked the ids of categories, any other transaction that assigns such an id waits for it. So
// the ids are assigned in turn.
func TestLockedCategoryIDsAreAssignedInTurn(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store := open(t, database, Options{RetryBudget: time.Hour}) // so that the other transaction does not give up waiting for the lock
	db := pgtest.Connect(t, database)
	create := func(tx shop.WriteTx, name string) error {
		ids, err := tx.AssignCategoryIDs(1)
		if err != nil {
			return err
		}
		return tx.InsertCategories(shop.Category{ID: ids[0], Name: name})
	}
	write(t, store, func(tx shop.WriteTx) error { return create(tx, "first") })
	var other sync.WaitGroup
	attempts := 0
	write(t, store, func(tx shop.WriteTx) error {
		attempts++
		if err := tx.LockCategoryIDs(); err != nil {
			return err
		}
		other.Go(func() {
			write(t, store, func(tx shop.WriteTx) error { return create(tx, "third") })
		})
		db.AwaitLockWait()
		return create(tx, "second")
	})
	other.Wait()
	if attempts != 1 {
		t.Errorf("the transaction needed %d attempts, want 1", attempts)
	}
	wantNamed(t, store, "second", "[{2 second}]")
	wantNamed(t, store, "third", "[{3 third}]")
}
