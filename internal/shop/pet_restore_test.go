package shop_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A removed animal can be restored on any node as soon as DeletePet has returned, even before the event about the
// removal is published. If several clients restore it at the same time, exactly one succeeds, and one event is
// recorded.
func TestAnimalIsRestoredOnlyOnce(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, nodes []*shop.Service) {
		pet := s.AddPet(t, "Rex", 1, shop.Available)
		for round := range 3 { // each restore must bring back the state before the newest removal
			pet = must(s.UpdatePet(t.Context(), shop.Caller{}, pet.ID, shop.PetChange{Name: new(fmt.Sprint("Rex ", round))}, nil))(t)
			check(t, s.DeletePet(t.Context(), shop.Caller{}, pet.ID, nil))
			var restored atomic.Int64
			atOnce(6, func(i int) {
				got, err := nodes[(i+1)%len(nodes)].RestorePet(t.Context(), shop.Caller{}, pet.ID)
				switch {
				case err == nil && got == pet:
					restored.Add(1)
				case codeOf(err) != shop.PetExists:
					t.Errorf("restored %+v, %v; want %+v or pet_exists", got, err, pet)
				}
			})
			equal(t, "restores that succeeded", restored.Load(), 1)
			equal(t, "the animal", must(s.Pet(t.Context(), pet.ID, nil))(t), pet)
		}
		equal(t, "the inventory", must(s.Inventory(t.Context()))(t), shop.Inventory{Available: 1})
		filter := shop.EventFilter{Types: []shop.EventType{shop.PetRestored}}
		events := must(s.ListEvents(t.Context(), shop.Caller{}, filter, shop.PageRequest{Limit: 10}))(t).Items
		equal(t, "events of restores", len(events), 3)
		check(t, s.IndexSearch(t.Context()))
		found := must(s.ListPets(t.Context(), shop.Caller{}, shop.PetList{PetFilter: shop.PetFilter{Query: "rex 2"}, PageRequest: shop.PageRequest{Limit: 10}}, nil))(t)
		equal(t, "animals found by name", len(found.Items), 1)
		equal(t, "the next id", s.AddPet(t, "Mia", 1, "").ID > pet.ID, true)
	})
}

// If the category of a restored animal was deleted, the category is created again with its old name, if it had one.
// If only known categories are allowed, the restore is refused instead.
func TestRestoredAnimalGetsItsCategoryBack(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{Options: shop.Options{EventRetention: 24 * time.Hour}})
	known := must(s.Node(t.Context(), shop.Options{KnownCategories: true}))(t)
	restore := func(want shop.Category) {
		t.Helper()
		pet := s.AddPet(t, "Rex", want.ID, shop.Sold)
		check(t, s.DeletePet(t.Context(), shop.Caller{}, pet.ID, nil))
		check(t, s.DeleteCategory(t.Context(), shop.Caller{}, want.ID, nil))
		_, err := known.RestorePet(t.Context(), shop.Caller{}, pet.ID)
		wantCode(t, err, shop.UnknownCategory)
		equal(t, "the animal", must(s.RestorePet(t.Context(), shop.Caller{}, pet.ID))(t), pet)
		equal(t, "its category", must(s.Category(t.Context(), want.ID))(t), want)
	}
	must(s.PutCategory(t.Context(), shop.Caller{}, shop.Category{ID: 7, Name: "Dogs"}, shop.PutCondition{}))(t)
	restore(shop.Category{ID: 7, Name: "Dogs"})
	restore(shop.Category{ID: 8})
}

// An animal cannot be restored if the events about it have expired or if it never existed.
func TestAnimalIsNotRestoredAfterItsEventsHaveExpired(t *testing.T) {
	inVirtualTime(t, shop.Options{EventRetention: 24 * time.Hour}, func(t *testing.T, s *shoptest.Shop) {
		pet := s.AddPet(t, "Rex", 1, shop.Available)
		check(t, s.DeletePet(t.Context(), shop.Caller{}, pet.ID, nil))
		_, err := s.RestorePet(t.Context(), shop.Caller{}, pet.ID+1)
		wantCode(t, err, shop.NotFound)
		time.Sleep(25 * time.Hour)
		check(t, s.RemoveEvents(t.Context()))
		_, err = s.RestorePet(t.Context(), shop.Caller{}, pet.ID)
		wantCode(t, err, shop.NotFound)
	})
}
