package sqlstore

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// Many clients order different animals at the same time. Their writes conflict, because PostgreSQL detects
// conflicts by page. After a conflict, the writes are retried one at a time. Otherwise they would conflict
// until their budget is spent.
func TestRetriesAfterConflictsRunOneAtATime(t *testing.T) {
	t.Parallel()
	const clients, times = 40, 3
	store := open(t, newDatabase(t), Options{RetryBudget: time.Hour})
	var pets []shop.Pet
	err := store.Write(t.Context(), func(tx shop.WriteTx) (err error) {
		if _, err := tx.EnsureCategories(1); err != nil {
			return err
		}
		pets, err = tx.InsertPets(slices.Repeat([]shop.NewPet{{Name: "Rex", CategoryID: 1, Status: shop.Available}}, clients*times)...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var runs, again, together atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for _, before := range pets[i*times:][:times] {
				first := true
				err := store.Write(context.Background(), func(tx shop.WriteTx) error {
					runs.Add(1)
					if !first {
						if again.Add(1) > 1 {
							together.Add(1)
						}
						defer again.Add(-1)
					}
					first = false
					if _, _, err := tx.OpenOrder(before.ID); err != nil {
						return err
					}
					now, err := tx.Now()
					if err != nil {
						return err
					}
					if _, err := tx.InsertOrder(shop.Order{PetID: before.ID, Status: shop.Placed, CreatedAt: now, UpdatedAt: now, HoldExpiresAt: now}); err != nil {
						return err
					}
					after := before
					after.Status = shop.Pending
					return tx.UpdatePet(before, after)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d orders in %d runs", len(pets), runs.Load())
	if together.Load() != 0 {
		t.Errorf("%d retries ran beside another retry", together.Load())
	}
}

// If another transaction locks a row for longer than lock_timeout, the write is retried.
func TestLockTimeoutIsRetried(t *testing.T) {
	t.Parallel()
	h := newFaultHarness(t)
	h.works("before")
	exec(t, h.direct, "ALTER DATABASE "+h.database()+" SET lock_timeout = '50ms'")
	h.proxy.Cut() // forces the store to open new connections
	h.proxy.Heal()
	other, err := h.direct.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	if _, err := other.ExecContext(t.Context(), "UPDATE pets SET name = name"); err != nil {
		t.Fatal(err)
	}
	runs := 0
	err = h.store.Write(t.Context(), func(tx shop.WriteTx) error {
		if runs++; runs == 3 {
			other.Rollback()
		}
		pets, err := tx.Pets(shop.PetList{PageRequest: shop.PageRequest{Limit: 1}})
		if err != nil {
			return err
		}
		after := pets[0]
		after.Name = "after"
		return tx.UpdatePet(pets[0], after)
	})
	if err != nil || runs < 3 {
		t.Errorf("%v after %d runs", err, runs)
	}
}

// A client cancels a write after a conflict and sends a new write to another node. The cancelled write is not
// retried, because a delayed attempt could overwrite the new write.
func TestWriteOfACancelledCallerIsNotRetried(t *testing.T) {
	t.Parallel()
	store := open(t, newDatabase(t), Options{RetryBudget: time.Hour})
	err := store.Write(t.Context(), adding("Rex"))
	if err != nil {
		t.Fatal(err)
	}
	rename := func(tx shop.WriteTx, name string, between func()) error {
		pets, err := tx.Pets(shop.PetList{PageRequest: shop.PageRequest{Limit: 1}})
		if err != nil {
			return err
		}
		between()
		after := pets[0]
		after.Name = name
		return tx.UpdatePet(pets[0], after)
	}
	for _, cancels := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		runs := 0
		err := store.Write(ctx, func(tx shop.WriteTx) error {
			runs++
			return rename(tx, "late", func() {
				if runs > 1 {
					return
				}
				if cancels {
					cancel()
				}
				if err := store.Write(t.Context(), func(tx shop.WriteTx) error { return rename(tx, "soon", func() {}) }); err != nil {
					t.Error(err)
				}
			})
		})
		if cancels != (err != nil) || cancels != (runs == 1) {
			t.Errorf("the caller cancels: %v; %d runs, %v", cancels, runs, err)
		}
		if cancels && shop.AsError(err).Code != shop.Unavailable {
			t.Errorf("the error is %v", err)
		}
	}
}
