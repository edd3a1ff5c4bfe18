package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"animalstore/internal/shop"
)

var importCases = []testCase{
	{name: "many animals are stored under ascending ids", run: func(t *testing.T, store shop.Store) {
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
				if diff := gocmp.Diff(pets, found); diff != "" {
					t.Fatalf("(-want +got)\n%s", diff)
				}
			}
		}
		if next := addPet(t, store, shop.NewPet{Name: "the last", CategoryID: 1}).ID; next <= last {
			t.Errorf("the id %d follows %d", next, last)
		}
		wantInventory(t, store, shop.Inventory{Available: 369, Pending: 368, Sold: 367, Unspecified: 374})
	}},

	{name: "many animals do not reuse the id of a deleted one", run: func(t *testing.T, store shop.Store) {
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

	{name: "many categories are created, each once", run: func(t *testing.T, store shop.Store) {
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
			categories, err := tx.CategoriesByID(append(slices.Clone(ids), -77, 99, 350))
			var found []int64
			for _, category := range categories {
				found = append(found, category.ID)
			}
			slices.Sort(found)
			if !slices.Equal(found, ids) {
				t.Errorf("CategoriesByID returns %v", found)
			}
			return err
		})
	}},

	{name: "many categories get names, and are found by them", run: func(t *testing.T, store shop.Store) {
		for _, id := range []int64{3, 700, math.MaxInt64} {
			ensureCategory(t, store, id)
		}
		var want []shop.Category
		write(t, store, func(tx shop.WriteTx) error {
			ids, err := tx.AssignCategoryIDs(1234)
			if err != nil {
				return err
			}
			want = nil
			for i, id := range ids {
				want = append(want, shop.Category{ID: id, Name: fmt.Sprintf("Žofky %d", i)})
			}
			return tx.InsertCategories(want...)
		})
		if first, last := want[0].ID, want[1233].ID; first != 1 || want[2].ID != 4 || last != 1236 {
			t.Errorf("the ids are %d to %d, want 1 to 1236 without 3 and 700", first, last)
		}
		names := []string{"unknown"}
		for _, category := range want {
			names = append(names, category.Name)
		}
		wantNamed(t, store, names, 1, want)
		for i, name := range names {
			names[i] = " " + strings.ToUpper(name)
		}
		wantNamed(t, store, names, 1, want)
		wantNamed(t, store, nil, 1, nil)
	}},

	{name: "of categories with the same name, the first ones are found", run: func(t *testing.T, store shop.Store) {
		all := []shop.Category{{ID: 9, Name: "Žofky"}, {ID: 8, Name: "žofky"}, {ID: 7, Name: " žofky"}, {ID: 6, Name: "ŽOFKY"},
			{ID: 5, Name: "žofky"}, {ID: 4, Name: "zofky"}, {ID: 3, Name: "Žofky"}, {ID: 2, Name: "žofky"}}
		write(t, store, func(tx shop.WriteTx) error { return tx.InsertCategories(all...) })
		ensureCategory(t, store, 1) // a category without a name
		wantNamed(t, store, []string{"Žofky"}, 2, []shop.Category{{ID: 2, Name: "žofky"}, {ID: 3, Name: "Žofky"}, {ID: 9, Name: "Žofky"}})
		wantNamed(t, store, []string{"žofky", "ZOFKY"}, 2, []shop.Category{
			{ID: 2, Name: "žofky"}, {ID: 3, Name: "Žofky"}, {ID: 4, Name: "zofky"}, {ID: 5, Name: "žofky"}})
		wantNamed(t, store, []string{" žofky"}, 1, []shop.Category{{ID: 2, Name: "žofky"}, {ID: 7, Name: " žofky"}})
		write(t, store, func(tx shop.WriteTx) error {
			return errors.Join(tx.DeleteCategory(all[7]), tx.UpdateCategory(all[6], shop.Category{ID: 3, Name: "ŽOFKY"}),
				tx.UpdateCategory(all[5], shop.Category{ID: 4, Name: "Psi"}))
		})
		wantNamed(t, store, []string{"žofky"}, 2, []shop.Category{{ID: 3, Name: "ŽOFKY"}, {ID: 5, Name: "žofky"}, {ID: 8, Name: "žofky"}})
		wantNamed(t, store, []string{"zofky", "PSI"}, 2, []shop.Category{{ID: 4, Name: "Psi"}})
	}},

	{name: "an import and a new category of the same name do not overlook each other", run: func(t *testing.T, store shop.Store) {
		// Each write creates the category only if there is none with its name.
		for round := range 20 {
			name := fmt.Sprint("Round ", round)
			var writes sync.WaitGroup
			for i := range 4 {
				writes.Go(func() {
					err := store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
						found, err := tx.CategoriesNamed([]string{name}, 2)
						if err != nil || len(found) > 0 {
							return err
						}
						return tx.InsertCategories(shop.Category{ID: int64(10*round + i), Name: name})
					})
					if err != nil {
						t.Errorf("a write failed: %v", err)
					}
				})
			}
			writes.Wait()
			found := get(t, store, func(tx shop.ReadTx) ([]shop.Category, error) { return tx.CategoriesNamed([]string{name}, 2) })
			if len(found) != 1 {
				t.Errorf("the categories %v were created, want one", found)
			}
		}
	}},

	{name: "many animals are changed at once", run: func(t *testing.T, store shop.Store) {
		statuses := []shop.Status{"", shop.Available, shop.Pending, shop.Sold}
		for category := range int64(4) {
			ensureCategory(t, store, category)
		}
		for _, n := range []int{0, 1, 2, 49, 50, 51, 551, 1101} {
			news, updates, ids := make([]shop.NewPet, n), make([]shop.PetUpdate, n), make([]int64, n)
			for i := range news {
				news[i] = shop.NewPet{Name: fmt.Sprint("before ", i), CategoryID: int64(i % 4), Status: statuses[i%4]}
			}
			before := get(t, store, shop.ReadTx.Inventory)
			var want shop.Inventory
			write(t, store, func(tx shop.WriteTx) error {
				pets, err := tx.InsertPets(news...)
				want = before
				for i, pet := range pets {
					after := shop.NewPet{Name: fmt.Sprint("after, 'Žofka' ", i), CategoryID: int64(i / 4 % 4), Status: statuses[i/2%4]}
					updates[i], ids[i] = shop.PetUpdate{Before: pet, After: after.WithID(pet.ID)}, pet.ID
					want = add(want, after.Status)
				}
				return err
			})
			write(t, store, func(tx shop.WriteTx) error { return tx.UpdatePets(updates...) })
			found := get(t, store, func(tx shop.ReadTx) ([]shop.Pet, error) { return tx.PetsByID(append(ids, -1, math.MaxInt64)) })
			slices.SortFunc(found, func(a, b shop.Pet) int { return cmp.Compare(a.ID, b.ID) })
			if !slices.EqualFunc(found, updates, func(pet shop.Pet, u shop.PetUpdate) bool { return pet == u.After }) {
				t.Errorf("%d animals changed by %v were read as %v", n, updates, found)
			}
			wantInventory(t, store, want)
		}
		wantIDs(t, searchPets(t, store, shop.PetList{PetFilter: shop.PetFilter{Query: "before"}, PageRequest: shop.PageRequest{Limit: 10}}), nil)
		found := searchPets(t, store, shop.PetList{PetFilter: shop.PetFilter{Query: "zofka 1100"}, PageRequest: shop.PageRequest{Limit: 10}})
		if len(found) != 1 || found[0].Name != "after, 'Žofka' 1100" {
			t.Errorf("found %v, want the animal with its new name", found)
		}
	}},

	{name: "animals are read in ascending order up to an id", run: func(t *testing.T, store shop.Store) {
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

func wantNamed(t *testing.T, store shop.Store, names []string, limit int, want []shop.Category) {
	t.Helper()
	found := get(t, store, func(tx shop.ReadTx) ([]shop.Category, error) { return tx.CategoriesNamed(names, limit) })
	if diff := gocmp.Diff(want, found, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%.3q with at most %d (-want +got)\n%s", names, limit, diff)
	}
}

// add returns the inventory with one more animal.
func add(inventory shop.Inventory, status shop.Status) shop.Inventory {
	*map[shop.Status]*int64{
		"": &inventory.Unspecified, shop.Available: &inventory.Available, shop.Pending: &inventory.Pending, shop.Sold: &inventory.Sold,
	}[status]++
	return inventory
}

func wantInventory(t *testing.T, store shop.Store, want shop.Inventory) {
	t.Helper()
	if got := get(t, store, shop.ReadTx.Inventory); got != want {
		t.Errorf("the inventory is %+v, want %+v", got, want)
	}
}
