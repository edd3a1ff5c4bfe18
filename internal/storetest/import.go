package storetest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

var importCases = []testCase{
	{"many animals are stored under ascending ids", func(t *testing.T, store shop.Store) {
		last := addPet(t, store, shop.NewPet{Name: "the first", CategoryID: 1}).ID
		statuses := []shop.Status{"", shop.Available, shop.Pending, shop.Sold}
		for _, n := range []int{0, 1, 9, 10, 99, 100, 257, 1000} {
			want := make([]shop.NewPet, n)
			for i := range want {
				want[i] = shop.NewPet{Name: fmt.Sprintf("Žofka %d of %d '%%$", i, n), CategoryID: 1, Status: statuses[i%4]}
			}
			var pets []shop.Pet
			write(t, store, func(tx shop.WriteTx) (err error) {
				pets, err = tx.InsertPets(want...)
				return err
			})
			if len(pets) != n {
				t.Fatalf("%d animals were stored as %d", n, len(pets))
			}
			for i, pet := range pets {
				if pet.ID <= last || pet != want[i].WithID(pet.ID) {
					t.Fatalf("after id %d, %+v was stored as %+v", last, want[i], pet)
				}
				last = pet.ID
			}
			slices.Reverse(pets)
			if n > 0 {
				found := listPets(t, store, shop.PetList{PageRequest: shop.PageRequest{Limit: n}})
				if diff := cmp.Diff(pets, found); diff != "" {
					t.Fatalf("(-want +got)\n%s", diff)
				}
			}
		}
		if next := addPet(t, store, shop.NewPet{Name: "the last", CategoryID: 1}).ID; next <= last {
			t.Errorf("the id %d follows %d", next, last)
		}
		wantInventory(t, store, shop.Inventory{Available: 369, Pending: 368, Sold: 367, Unspecified: 374})
	}},

	{"many animals do not reuse the id of a deleted one", func(t *testing.T, store shop.Store) {
		deleted := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1})
		write(t, store, func(tx shop.WriteTx) error { return tx.DeletePet(deleted) })
		write(t, store, func(tx shop.WriteTx) error {
			pets, err := tx.InsertPets(shop.NewPet{Name: "Mia", CategoryID: 1})
			if err == nil && pets[0].ID <= deleted.ID {
				t.Errorf("the id %d follows %d", pets[0].ID, deleted.ID)
			}
			return err
		})
	}},

	{"many categories are created, each once", func(t *testing.T, store shop.Store) {
		ids := []int64{math.MinInt64, -1, 0, 7, math.MaxInt64}
		for id := int64(100); id < 350; id++ {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		existing := []int64{-1, 7, 120, 349}
		for _, id := range existing {
			ensureCategory(t, store, id)
		}
		want := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return slices.Contains(existing, id) })
		for _, want := range [][]int64{want, nil} {
			write(t, store, func(tx shop.WriteTx) error {
				created, err := tx.EnsureCategories(ids...)
				if !slices.Equal(created, want) {
					t.Errorf("created %v, want %v", created, want)
				}
				return err
			})
		}
		read(t, store, func(tx shop.ReadTx) error {
			known, err := tx.ExistingCategories(append(slices.Clone(ids), -77, 99, 350))
			slices.Sort(ids)
			slices.Sort(known)
			if !slices.Equal(known, ids) {
				t.Errorf("ExistingCategories returns %v", known)
			}
			return err
		})
	}},

	{"animals are read in ascending order up to an id", func(t *testing.T, store shop.Store) {
		var ids []int64
		for range 6 {
			ids = append(ids, addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1}).ID)
		}
		for _, c := range []struct {
			last int64
			w    shop.PageRequest
			want []int64
		}{
			{ids[4], shop.PageRequest{Limit: 3}, ids[:3]},
			{ids[4], shop.PageRequest{Limit: 3, After: &ids[2]}, ids[3:5]},
			{ids[4], shop.PageRequest{Limit: 3, After: &ids[4]}, nil},
			{math.MaxInt64, shop.PageRequest{Limit: 10}, ids},
			{0, shop.PageRequest{Limit: 10}, nil},
		} {
			read(t, store, func(tx shop.ReadTx) error {
				pets, err := tx.PetsUpTo(c.last, c.w)
				wantIDs(t, pets, c.want)
				return err
			})
		}
	}},
}

func wantInventory(t *testing.T, store shop.Store, want shop.Inventory) {
	t.Helper()
	if got := get(t, store, shop.ReadTx.Inventory); got != want {
		t.Errorf("the inventory is %+v, want %+v", got, want)
	}
}
