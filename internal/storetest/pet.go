package storetest

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

var petCases = []testCase{
	{name: "an animal is stored", run: func(t *testing.T, store shop.Store) {
		for _, n := range []shop.NewPet{
			{Name: "Rex", CategoryID: 7, Status: shop.Available},
			{Name: "no status", CategoryID: 7},
			{Name: " surrounded by spaces ", CategoryID: 0, Status: shop.Pending},
			{Name: "smallest", CategoryID: math.MinInt64, Status: shop.Sold},
			{Name: "largest", CategoryID: math.MaxInt64},
			{Name: "beyond 2^53", CategoryID: 1<<53 + 1},
			{Name: strings.Repeat("🐈", shop.MaxText), CategoryID: -1},
			{Name: `"; DROP TABLE pets; -- % _ \ '`, CategoryID: 1},
		} {
			pet := addPet(t, store, n)
			if pet != n.WithID(pet.ID) {
				t.Errorf("added %+v, got %+v", n, pet)
			}
			wantFound(t, store, &pet, func(tx shop.ReadTx) (shop.Pet, bool, error) { return tx.Pet(pet.ID) })
		}
	}},

	{name: "unknown animals are not found", run: func(t *testing.T, store shop.Store) {
		addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1})
		for _, id := range []int64{0, -1, 2, math.MaxInt64, math.MinInt64} {
			wantFound(t, store, nil, func(tx shop.ReadTx) (shop.Pet, bool, error) { return tx.Pet(id) })
		}
	}},

	{name: "a list is newest first and ends at its limit", run: func(t *testing.T, store shop.Store) {
		var ids []int64
		for range 5 {
			ids = append(ids, addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1}).ID)
		}
		slices.Reverse(ids)
		wantIDs(t, listPets(t, store, shop.PetList{PageRequest: shop.PageRequest{Limit: 3}}), ids[:3])
		wantIDs(t, listPets(t, store, shop.PetList{PageRequest: shop.PageRequest{Limit: 3, After: &ids[2]}}), ids[3:])
		wantIDs(t, listPets(t, store, shop.PetList{PageRequest: shop.PageRequest{Limit: 3, After: new(int64(math.MaxInt64))}}), ids[:3])
		wantIDs(t, listPets(t, store, shop.PetList{PageRequest: shop.PageRequest{Limit: 3, After: new(int64(math.MinInt64))}}), nil)
	}},

	{name: "filters combine", run: func(t *testing.T, store shop.Store) {
		var all []shop.Pet
		for _, name := range []string{"Rex", "REXINA", "Bella"} {
			for _, category := range []int64{-3, 0, 4} {
				for _, status := range []shop.Status{"", shop.Available, shop.Pending, shop.Sold} {
					all = append(all, addPet(t, store, shop.NewPet{Name: name, CategoryID: category, Status: status}))
				}
			}
		}
		slices.Reverse(all)
		ids := []int64{all[0].ID, all[3].ID, all[7].ID, all[12].ID, all[13].ID, all[20].ID, all[30].ID, 99999}
		position := all[10].ID
		for _, status := range []shop.Status{"", shop.Available, shop.Sold, "lost", "none"} {
			for _, category := range []*int64{nil, new(int64(0)), new(int64(-3)), new(int64(5))} {
				for _, query := range []string{"", "rex", "E", "nobody"} {
					for _, ids := range [][]int64{nil, ids} {
						for _, before := range []*int64{nil, &position} {
							l := shop.PetList{PageRequest: shop.PageRequest{After: before}}
							l.PetFilter = shop.PetFilter{Status: status, CategoryID: category, Query: query, IDs: ids}
							if status == "none" {
								l.Status, l.NoStatus = "", true
							}
							want := slices.DeleteFunc(slices.Clone(all), func(p shop.Pet) bool { return !matches(p, l) })
							if diff := cmp.Diff(want, listPets(t, store, l)); diff != "" {
								t.Errorf("%+v: (-want +got)\n%s", l, diff)
							}
							if query != "" {
								continue
							}
							l.OldestFirst = true
							want = slices.DeleteFunc(slices.Clone(all), func(p shop.Pet) bool { return !matches(p, l) })
							slices.Reverse(want)
							if diff := cmp.Diff(want, listPets(t, store, l)); diff != "" {
								t.Errorf("%+v: (-want +got)\n%s", l, diff)
							}
						}
					}
				}
			}
		}
	}},

	{name: "a removed animal is restored under its id", run: func(t *testing.T, store shop.Store) {
		pet := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1, Status: shop.Sold})
		wantNewest := func(want ...shop.EventType) {
			t.Helper()
			got := []shop.EventType{}
			read(t, store, func(tx shop.ReadTx) error {
				events, err := tx.NewestEvents("pets/1", 2)
				for _, event := range events {
					got = append(got, event.Type)
				}
				return err
			})
			if diff := cmp.Diff(append([]shop.EventType{}, want...), got); diff != "" {
				t.Errorf("the newest events (-want +got)\n%s", diff)
			}
		}
		wantNewest()
		recordEvents(t, store, newEvent(shop.PetCreated, "pets/1"), newEvent(shop.PetCreated, "pets/11"))
		publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 1})
		write(t, store, func(tx shop.WriteTx) error {
			if err := tx.DeletePet(pet); err != nil {
				return err
			}
			return tx.InsertEvents(newEvent(shop.PetDeleted, "pets/1"))
		})
		// The same events are found before and after the deletion is published.
		wantNewest(shop.PetDeleted, shop.PetCreated)
		publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 1})
		wantNewest(shop.PetDeleted, shop.PetCreated)
		wantInventory(t, store, shop.Inventory{})
		write(t, store, func(tx shop.WriteTx) error { return tx.RestorePet(pet) })
		wantFound(t, store, &pet, func(tx shop.ReadTx) (shop.Pet, bool, error) { return tx.Pet(pet.ID) })
		wantInventory(t, store, shop.Inventory{Sold: 1})
		wantIDs(t, listPets(t, store, shop.PetList{PetFilter: shop.PetFilter{Query: "rex"}}), []int64{pet.ID})
		if err := store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error { return tx.RestorePet(pet) }); err == nil {
			t.Error("an animal was restored twice")
		}
		if next := addPet(t, store, shop.NewPet{Name: "Mia", CategoryID: 1}); next.ID <= pet.ID {
			t.Errorf("the next animal has the id %d", next.ID)
		}
	}},

	{name: "an empty store has no animals", run: func(t *testing.T, store shop.Store) {
		if get(t, store, shop.ReadTx.HasPets) {
			t.Error("an empty store has animals")
		}
		if pets := listPets(t, store, shop.PetList{}); pets == nil || len(pets) != 0 {
			t.Errorf("got %#v, want an empty list", pets)
		}
		addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1})
		if !get(t, store, shop.ReadTx.HasPets) {
			t.Error("a store with an animal has none")
		}
	}},
}

// matches implements the filters in PetList in Go, so that the results can be compared with the store's SQL.
func matches(p shop.Pet, l shop.PetList) bool {
	return (l.Status == "" || p.Status == l.Status) && (!l.NoStatus || p.Status == "") &&
		(l.CategoryID == nil || p.CategoryID == *l.CategoryID) &&
		strings.Contains(strings.ToLower(p.Name), strings.ToLower(l.Query)) &&
		(l.IDs == nil || slices.Contains(l.IDs, p.ID)) &&
		(l.After == nil || !l.OldestFirst && p.ID < *l.After || l.OldestFirst && p.ID > *l.After)
}

func wantIDs(t *testing.T, pets []shop.Pet, want []int64) {
	t.Helper()
	var got []int64
	for _, pet := range pets {
		got = append(got, pet.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got the animals %v, want %v", got, want)
	}
}
