package shop_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A hold expires automatically no later than one second after its end, and never early. It expires only once,
// although several nodes run the background job.
func TestHoldExpiresWithinASecond(t *testing.T) {
	const hold = 4 * time.Second
	inVirtualTime(t, shop.Options{OrderHold: hold}, func(t *testing.T, s *shoptest.Shop) {
		nodes, store := []*shop.Service{s.Service}, s.Store
		for range 2 {
			node, err := s.Node(t.Context(), shop.Options{OrderHold: hold})
			if err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, node)
		}
		for _, node := range nodes {
			defer runJobs(t, node)()
		}
		const animals = 250 // more than one batch can contain
		for i := range animals {
			time.Sleep(7 * time.Millisecond) // spread out the times at which the holds end
			s.AddPet(t, "Rex", 1, shop.Available)
			order, err := nodes[i%3].PlaceOrder(t.Context(), shop.NewOrder{PetID: int64(i + 1)})
			if err != nil {
				t.Fatal(err)
			}
			if order.HoldExpiresAt.Sub(order.CreatedAt) != hold {
				t.Fatalf("the hold is %v", order.HoldExpiresAt.Sub(order.CreatedAt))
			}
		}
		if _, err := nodes[1].UpdateOrder(t.Context(), 1, shop.Approved, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(hold - animals*7*time.Millisecond)
		wantStoredInventory(t, store, shop.Inventory{Pending: animals})
		for i := range animals - 1 { // check that each hold expires at most one second after its end
			time.Sleep(7 * time.Millisecond)
			if i < 143 {
				continue
			}
			synctest.Wait()
			if expired := storedInventory(t, store).Available; expired < int64(i-143) {
				t.Fatalf("%d holds have expired, want at least %d", expired, i-143)
			}
		}
		time.Sleep(time.Second + 7*time.Millisecond)
		synctest.Wait()
		// The one pending animal is held by the approved order.
		wantStoredInventory(t, store, shop.Inventory{Available: animals - 1, Pending: 1})
		order, err := nodes[2].Order(t.Context(), 2)
		if err != nil || order.Status != shop.Expired || order.UpdatedAt.Sub(order.CreatedAt) < hold || order.UpdatedAt.Sub(order.CreatedAt) > hold+time.Second {
			t.Errorf("unexpected order %+v, %v", order, err)
		}
	})
}

// storedInventory reads the inventory directly from the store, because reading it through the service would
// expire holds that are due.
func storedInventory(t *testing.T, store shop.Store) (inventory shop.Inventory) {
	t.Helper()
	err := store.Read(t.Context(), func(tx shop.ReadTx) (err error) {
		inventory, err = tx.Inventory()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return inventory
}

func wantStoredInventory(t *testing.T, store shop.Store, want shop.Inventory) {
	t.Helper()
	if got := storedInventory(t, store); got != want {
		t.Errorf("the inventory is %+v, want %+v", got, want)
	}
}

// The time when a key was last used is saved within a minute, and again when the jobs end.
func TestLastUseIsSavedWhenJobsEnd(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, service *shoptest.Shop) {
		key := service.Key(t, shop.Admin)
		stop := runJobs(t, service.Service)
		lastUse := func() (at time.Time) {
			if err := service.Store.Read(t.Context(), func(tx shop.ReadTx) error {
				key, _, err := tx.Key(key.ID)
				at = key.LastUsedAt
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return at
		}
		use := func() time.Time {
			if _, err := service.Authenticate(t.Context(), key.Secret); err != nil {
				t.Fatal(err)
			}
			return time.Now().UTC()
		}
		used := use()
		time.Sleep(time.Minute)
		if got := lastUse(); !got.Equal(used) {
			t.Errorf("the last use is %v a minute later, want %v", got, used)
		}
		used = use()
		stop()
		if got := lastUse(); !got.Equal(used) {
			t.Errorf("the last use is %v after the jobs ended, want %v", got, used)
		}
	})
}

// A stored response expires after a day. After that, the idempotency key can be used for another request.
func TestStoredResponseExpiresAfterADay(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, service *shoptest.Shop) {
		store := service.Store
		create := func(fingerprint byte) error {
			ctx := shop.WithIdempotency(t.Context(), &shop.IdempotentRequest{
				Principal: 1, Key: "k", Fingerprint: [32]byte{fingerprint},
				Response: func(any) shop.StoredResponse { return shop.StoredResponse{Status: 201, Body: []byte{fingerprint}} },
			})
			_, err := service.CreatePet(ctx, shop.NewPet{Name: "Rex", CategoryID: 1})
			return err
		}
		if err := create(1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24*time.Hour - time.Second)
		if err := service.PruneIdempotencyRecords(t.Context()); err != nil {
			t.Fatal(err)
		}
		if replay, ok := create(1).(*shop.ReplayError); !ok || replay.Body[0] != 1 {
			t.Error("the stored response expired too early")
		}
		if err := create(2); shop.AsError(err).Code != shop.IdempotencyKeyReused {
			t.Errorf("another request under the same key: %v", err)
		}
		time.Sleep(2 * time.Second)
		if err := create(2); err != nil {
			t.Errorf("a day later: %v", err)
		}
		err := store.Write(t.Context(), func(tx shop.WriteTx) error { // more than one batch can contain
			for i := range 2500 {
				if err := tx.PutIdempotencyRecord(2, fmt.Sprint(i), shop.IdempotencyRecord{StoredResponse: shop.StoredResponse{Body: []byte{1}}}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Hour)
		runJobs(t, service.Service)() // every job runs once more when the jobs end
		err = store.Read(t.Context(), func(tx shop.ReadTx) error {
			if _, found, err := tx.IdempotencyRecord(1, "k"); err != nil || found {
				t.Errorf("the record was not removed: %v %v", found, err)
			}
			for i := range 2500 {
				if _, found, err := tx.IdempotencyRecord(2, fmt.Sprint(i)); err != nil || found {
					t.Fatalf("record %d was not removed: %v %v", i, found, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
