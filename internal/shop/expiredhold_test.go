package shop_test

import (
	"errors"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// wantError checks that an operation failed with the given code.
func wantError(t *testing.T, err error, want shop.Code) {
	t.Helper()
	if err == nil || shop.AsError(err).Code != want {
		t.Errorf("got %v, want the error %s", err, want)
	}
}

// placeHold adds an available animal and orders it.
func placeHold(t *testing.T, s *shoptest.Shop) shop.Order {
	t.Helper()
	pet := s.AddPet(t, "Rex", 1, shop.Available)
	order, err := s.PlaceOrder(t.Context(), shop.NewOrder{PetID: pet.ID})
	if err != nil {
		t.Fatal(err)
	}
	return order
}

// Every operation treats an order as expired as soon as its hold expires, even if the background job has not
// run yet.
func TestExpiredHoldReleasesThePet(t *testing.T) {
	t.Parallel()
	listed := func(t *testing.T, s *shoptest.Shop, status shop.Status) int {
		t.Helper()
		page, err := s.ListPets(t.Context(), shop.PetList{PetFilter: shop.PetFilter{Status: status}, PageRequest: shop.PageRequest{Limit: 10}})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Items)
	}
	update := func(to shop.OrderStatus, want shop.Code) func(*testing.T, *shoptest.Shop) {
		return func(t *testing.T, s *shoptest.Shop) {
			if _, err := s.UpdateOrder(t.Context(), 1, to, nil); want != "" {
				wantError(t, err, want)
			} else if err != nil {
				t.Error(err)
			}
		}
	}
	for name, check := range map[string]func(t *testing.T, s *shoptest.Shop){
		"list pets": func(t *testing.T, s *shoptest.Shop) {
			if available, pending := listed(t, s, shop.Available), listed(t, s, shop.Pending); available != 1 || pending != 0 {
				t.Errorf("%d animals are available and %d pending, want 1 and 0", available, pending)
			}
		},
		"get pet": func(t *testing.T, s *shoptest.Shop) {
			if pet, err := s.Pet(t.Context(), 1); err != nil || pet.Status != shop.Available {
				t.Errorf("the animal is %+v (%v), want it available", pet, err)
			}
		},
		"inventory": func(t *testing.T, s *shoptest.Shop) {
			if got, err := s.Inventory(t.Context()); err != nil || got != (shop.Inventory{Available: 1}) {
				t.Errorf("the inventory is %+v (%v), want one available animal", got, err)
			}
		},
		"export": func(t *testing.T, s *shoptest.Shop) {
			err := s.ExportPets(t.Context(), func(pets []shop.Pet) error {
				if len(pets) != 1 || pets[0].Status != shop.Available {
					t.Errorf("the export has %+v, want one available animal", pets)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		},
		"get order": func(t *testing.T, s *shoptest.Shop) {
			got, err := s.Order(t.Context(), 1)
			if err != nil || got.Status != shop.Expired || !got.HoldExpiresAt.IsZero() || !got.UpdatedAt.After(got.CreatedAt) {
				t.Errorf("the order is %+v (%v), want it expired", got, err)
			}
		},
		"list orders": func(t *testing.T, s *shoptest.Shop) {
			page, err := s.ListOrders(t.Context(), shop.OrderList{Status: shop.Placed, PageRequest: shop.PageRequest{Limit: 10}})
			if err != nil || len(page.Items) != 0 {
				t.Errorf("the placed orders are %+v (%v), want none", page.Items, err)
			}
		},
		"approve": update(shop.Approved, shop.InvalidTransition),
		"cancel":  update(shop.Cancelled, shop.InvalidTransition),
		"expire":  update(shop.Expired, ""),
		"order again": func(t *testing.T, s *shoptest.Shop) {
			if _, err := s.PlaceOrder(t.Context(), shop.NewOrder{PetID: 1}); err != nil {
				t.Error(err)
			}
		},
		"sell": func(t *testing.T, s *shoptest.Shop) {
			if _, err := s.UpdatePet(t.Context(), 1, shop.PetChange{Status: new(shop.Sold)}, nil); err != nil {
				t.Error(err)
			}
		},
		"remove": func(t *testing.T, s *shoptest.Shop) {
			if err := s.DeletePet(t.Context(), 1, nil); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shoptest.Open(t, shoptest.Options{})
			order := placeHold(t, s)
			s.Clock.Forward(order.HoldExpiresAt.Sub(s.Clock.Now()) - time.Hour)
			if n := listed(t, s, shop.Pending); n != 1 {
				t.Errorf("an hour before the end of the hold, %d animals are pending, want 1", n)
			}
			s.Clock.Forward(time.Hour)
			check(t, s)
			if got, err := s.Order(t.Context(), order.ID); err != nil || got.Status != shop.Expired {
				t.Errorf("the order is %+v (%v), want it expired", got, err)
			}
		})
	}
}

// All holds are released even if more of them expire at the same time than one transaction releases.
func TestManyHoldsExpireAtOnce(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	const animals = 101
	for range animals {
		placeHold(t, s)
	}
	s.Clock.Forward(shop.DefaultOrderHold)
	if got, err := s.Inventory(t.Context()); err != nil || got != (shop.Inventory{Available: animals}) {
		t.Errorf("the inventory is %+v (%v), want %d available animals", got, err, animals)
	}
}

// Reads succeed even if a hold has expired while the store cannot be written.
func TestReadsSucceedWhileAnExpiredHoldCannotBeReleased(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	placeHold(t, s)
	s.Clock.Forward(shop.DefaultOrderHold)
	s.Store.FailWith(func(write bool) error {
		if write {
			return shop.UnavailableError(errors.New("read-only"))
		}
		return nil
	})
	if _, err := s.Pet(t.Context(), 1); err != nil {
		t.Error(err)
	}
	_, err := s.PlaceOrder(t.Context(), shop.NewOrder{PetID: 1})
	wantError(t, err, shop.Unavailable)
	s.Store.FailWith(nil)
	if pet, err := s.Pet(t.Context(), 1); err != nil || pet.Status != shop.Available {
		t.Errorf("the animal is %+v (%v), want it available", pet, err)
	}
}
