package shop_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// Every operation treats an order as expired as soon as its hold ends, even before the background job has run.
func TestExpiredHoldReleasesThePet(t *testing.T) {
	t.Parallel()
	page := shop.PageRequest{Limit: 10}
	listed := func(t *testing.T, s *shoptest.Shop, status shop.Status) int {
		t.Helper()
		list := shop.PetList{PetFilter: shop.PetFilter{Status: status}, PageRequest: page}
		return len(must(s.ListPets(t.Context(), shop.Caller{}, list, nil))(t).Items)
	}
	update := func(to shop.OrderStatus, want shop.Code) func(*testing.T, *shoptest.Shop) {
		return func(t *testing.T, s *shoptest.Shop) {
			_, err := s.UpdateOrder(t.Context(), shop.Caller{}, 1, shop.OrderChange{Status: new(to)}, nil)
			wantCode(t, err, want)
		}
	}
	for name, look := range map[string]func(t *testing.T, s *shoptest.Shop){
		"list pets": func(t *testing.T, s *shoptest.Shop) {
			equal(t, "available animals", listed(t, s, shop.Available), 1)
			equal(t, "pending animals", listed(t, s, shop.Pending), 0)
		},
		"get pet": func(t *testing.T, s *shoptest.Shop) {
			equal(t, "the animal", must(s.Pet(t.Context(), 1, nil))(t).Status, shop.Available)
		},
		"inventory": func(t *testing.T, s *shoptest.Shop) {
			equal(t, "the inventory", must(s.Inventory(t.Context()))(t), shop.Inventory{Available: 1})
		},
		"export": func(t *testing.T, s *shoptest.Shop) {
			check(t, s.ExportPets(t.Context(), shop.Caller{}, shop.ExportOptions{}, func(pets []shop.ExportRow) error {
				if len(pets) != 1 || pets[0].Status != shop.Available {
					t.Errorf("the export has %+v, want one available animal", pets)
				}
				return nil
			}))
		},
		"get order": func(t *testing.T, s *shoptest.Shop) {
			got := must(s.Order(t.Context(), 1))(t)
			if got.Status != shop.Expired || !got.HoldExpiresAt.IsZero() || !got.UpdatedAt.After(got.CreatedAt) {
				t.Errorf("the order is %+v, want it expired", got)
			}
		},
		"list orders": func(t *testing.T, s *shoptest.Shop) {
			placed := must(s.ListOrders(t.Context(), shop.Caller{}, shop.OrderList{Status: shop.Placed, PageRequest: page}))(t)
			equal(t, "placed orders", len(placed.Items), 0)
		},
		"approve": update(shop.Approved, shop.InvalidTransition),
		"cancel":  update(shop.Cancelled, shop.InvalidTransition),
		"expire":  update(shop.Expired, ""),
		"change the reference": func(t *testing.T, s *shoptest.Shop) {
			_, err := s.UpdateOrder(t.Context(), shop.Caller{}, 1, shop.OrderChange{Reference: new("late")}, nil)
			wantCode(t, err, shop.InvalidTransition)
		},
		"order again": func(t *testing.T, s *shoptest.Shop) {
			must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: 1}))(t)
		},
		"sell": func(t *testing.T, s *shoptest.Shop) {
			must(s.UpdatePet(t.Context(), shop.Caller{}, 1, shop.PetChange{Status: new(shop.Sold)}, nil))(t)
		},
		"remove": func(t *testing.T, s *shoptest.Shop) { check(t, s.DeletePet(t.Context(), shop.Caller{}, 1, nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shoptest.Open(t, shoptest.Options{})
			order := placeHold(t, s)
			s.Clock.Forward(order.HoldExpiresAt.Sub(s.Clock.Now()) - time.Hour)
			equal(t, "pending animals an hour before the end of the hold", listed(t, s, shop.Pending), 1)
			s.Clock.Forward(time.Hour)
			look(t, s)
			equal(t, "the order", must(s.Order(t.Context(), order.ID))(t).Status, shop.Expired)
		})
	}
}

// Reads succeed even if holds have expired while the store cannot be written. Once it can be written again, all of
// these holds are released, even if that takes more than one transaction.
func TestReadsSucceedWhileAnExpiredHoldCannotBeReleased(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	const animals = 101
	for range animals {
		placeHold(t, s)
	}
	s.Clock.Forward(shop.DefaultOrderHold)
	failWrites(s, 0)
	must(s.Pet(t.Context(), 1, nil))(t)
	_, err := s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: 1})
	wantCode(t, err, shop.Unavailable)
	s.Store.FailWith(nil)
	equal(t, "the inventory", must(s.Inventory(t.Context()))(t), shop.Inventory{Available: animals})
}

// A hold expires automatically no later than one second after its end, and never early. It expires only once, even
// though several nodes run the background job.
func TestHoldExpiresWithinASecond(t *testing.T) {
	const hold = 4 * time.Second
	inVirtualTime(t, shop.Options{OrderHold: hold}, func(t *testing.T, s *shoptest.Shop) {
		nodes := nodes(t, s, shop.Options{OrderHold: hold})
		for _, node := range nodes {
			defer runJobs(t, node)()
		}
		// stored reads the store directly, because a read through the service would expire the holds.
		stored := func() (inventory shop.Inventory) {
			check(t, s.Store.Read(t.Context(), shop.Reading{}, func(tx shop.ReadTx) (err error) {
				inventory, err = tx.Inventory()
				return err
			}))
			return inventory
		}
		const animals = 250 // more than fit in one batch
		for i := range animals {
			time.Sleep(7 * time.Millisecond) // spread out the times at which the holds end
			s.AddPet(t, "Rex", 1, shop.Available)
			order := must(nodes[i%3].PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: int64(i + 1)}))(t)
			equal(t, "the hold", order.HoldExpiresAt.Sub(order.CreatedAt), hold)
		}
		must(nodes[1].UpdateOrder(t.Context(), shop.Caller{}, 1, shop.OrderChange{Status: new(shop.Approved)}, nil))(t)
		time.Sleep(hold - animals*7*time.Millisecond)
		equal(t, "the inventory before the end", stored(), shop.Inventory{Pending: animals})
		time.Sleep(143 * 7 * time.Millisecond)
		for want := range int64(animals - 144) { // check that each hold expires at most one second after its end
			time.Sleep(7 * time.Millisecond)
			synctest.Wait()
			if expired := stored().Available; expired < want {
				t.Fatalf("%d holds have expired, want at least %d", expired, want)
			}
		}
		time.Sleep(time.Second + 7*time.Millisecond)
		synctest.Wait()
		// The one pending animal is held by the approved order.
		equal(t, "the inventory after the end", stored(), shop.Inventory{Available: animals - 1, Pending: 1})
		order := must(nodes[2].Order(t.Context(), 2))(t)
		if took := order.UpdatedAt.Sub(order.CreatedAt); order.Status != shop.Expired || took < hold || took > hold+time.Second {
			t.Errorf("after %v, the order is %+v", took, order)
		}
	})
}

// The time when a key was last used is saved within a minute, and again when the jobs end.
func TestLastUseIsSavedWhenJobsEnd(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		key := s.Key(t, shop.Admin)
		wantSaved := func(when string, wait func()) {
			t.Helper()
			must(s.Authenticate(t.Context(), key.Secret))(t)
			used := time.Now().UTC()
			wait()
			check(t, s.Store.Read(t.Context(), shop.Reading{}, func(tx shop.ReadTx) error {
				stored, _, err := tx.Key(key.ID)
				equal(t, "the last use, read "+when, stored.LastUsedAt, used)
				return err
			}))
		}
		stop := runJobs(t, s.Service)
		wantSaved("a minute later", func() { time.Sleep(time.Minute) })
		wantSaved("after the jobs ended", stop)
	})
}

// A stored response expires after a day. After that, the idempotency key can be used for another request.
func TestStoredResponseExpiresAfterADay(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		wantReplay(t, s.Service, "k", false)
		time.Sleep(24*time.Hour - time.Second)
		check(t, s.PruneIdempotencyRecords(t.Context()))
		wantReplay(t, s.Service, "k", true)
		wantCode(t, addOnce(t, s.Service, "k", 2), shop.IdempotencyKeyReused)
		time.Sleep(2 * time.Second)
		check(t, addOnce(t, s.Service, "k", 2))
		keys := []string{"k"}
		check(t, s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) (err error) {
			for i := range 2500 { // more than fit in one batch
				keys = append(keys, fmt.Sprint(i))
				record := shop.IdempotencyRecord{StoredResponse: shop.StoredResponse{Body: []byte{1}}}
				err = errors.Join(err, tx.PutIdempotencyRecord(1, keys[i+1], record))
			}
			return err
		}))
		time.Sleep(25 * time.Hour)
		runJobs(t, s.Service)() // every job runs once more when the jobs end
		check(t, s.Store.Read(t.Context(), shop.Reading{}, func(tx shop.ReadTx) error {
			for _, key := range keys {
				if _, found, err := tx.IdempotencyRecord(1, key); err != nil || found {
					t.Fatalf("record %s was not removed: %v %v", key, found, err)
				}
			}
			return nil
		}))
	})
}
