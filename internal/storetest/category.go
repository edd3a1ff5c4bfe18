package storetest

import (
	"math"
	"slices"
	"testing"

	"animalstore/internal/shop"
)

var categoryCases = []testCase{
	{name: "a category is created, renamed, deleted and created again", run: func(t *testing.T, store shop.Store) {
		want := func(id int64, name string, exists bool) {
			t.Helper()
			category := &shop.Category{ID: id, Name: name}
			if !exists {
				category = nil
			}
			wantFound(t, store, category, func(tx shop.ReadTx) (shop.Category, bool, error) { return tx.Category(id) })
		}
		for _, id := range []int64{0, math.MinInt64, math.MaxInt64} {
			want(id, "", false)
			if !ensureCategory(t, store, id) {
				t.Errorf("the category %d existed already", id)
			}
			want(id, "", true)
			for _, name := range []string{"Dogs", "Žofky 🐈"} {
				write(t, store, func(tx shop.WriteTx) error {
					return tx.UpdateCategory(shop.Category{ID: id}, shop.Category{ID: id, Name: name})
				})
				want(id, name, true)
			}
			if ensureCategory(t, store, id) { // the existing category must keep its name
				t.Errorf("the category %d was created twice", id)
			}
			want(id, "Žofky 🐈", true)
			write(t, store, func(tx shop.WriteTx) error { return tx.DeleteCategory(shop.Category{ID: id}) })
			want(id, "", false)
			write(t, store, func(tx shop.WriteTx) error { return tx.InsertCategories(shop.Category{ID: id, Name: "again"}) })
			want(id, "again", true)
		}
	}},

	{name: "categories are listed by ascending id", run: func(t *testing.T, store shop.Store) {
		ids := []int64{math.MinInt64, -3, 0, 5, math.MaxInt64}
		for _, id := range []int64{5, -3, math.MaxInt64, 0, math.MinInt64} {
			ensureCategory(t, store, id)
		}
		for from := range len(ids) + 1 {
			page := shop.PageRequest{Limit: 2}
			if from > 0 {
				page.After = &ids[from-1]
			}
			read(t, store, func(tx shop.ReadTx) error {
				categories, err := tx.Categories(page)
				var got []int64
				for _, c := range categories {
					got = append(got, c.ID)
				}
				if want := ids[from:min(from+2, len(ids))]; !slices.Equal(got, want) {
					t.Errorf("from %d: got %v, want %v", from, got, want)
				}
				return err
			})
		}
	}},

	{name: "a category is in use while an animal belongs to it", run: func(t *testing.T, store shop.Store) {
		pet := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 7})
		ensureCategory(t, store, 8)
		inUse := func(id int64, want bool) {
			t.Helper()
			if got := get(t, store, func(tx shop.ReadTx) (bool, error) { return tx.CategoryInUse(id) }); got != want {
				t.Errorf("CategoryInUse(%d) is %v", id, got)
			}
		}
		inUse(7, true)
		inUse(8, false)
		after := pet
		after.CategoryID = 8
		write(t, store, func(tx shop.WriteTx) error { return tx.UpdatePets(shop.PetUpdate{Before: pet, After: after}) })
		inUse(7, false)
		inUse(8, true)
	}},

	{name: "an animal cannot belong to a missing category", run: func(t *testing.T, store shop.Store) {
		pet := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 7})
		moved := pet
		moved.CategoryID = 404
		for name, change := range map[string]func(shop.WriteTx) error{
			"a new animal": func(tx shop.WriteTx) error {
				_, err := tx.InsertPets(shop.NewPet{Name: "Orphan", CategoryID: 404})
				return err
			},
			"a moved animal":                      func(tx shop.WriteTx) error { return tx.UpdatePets(shop.PetUpdate{Before: pet, After: moved}) },
			"an animal whose category is deleted": func(tx shop.WriteTx) error { return tx.DeleteCategory(shop.Category{ID: 7}) },
		} {
			err := store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
				if err := change(tx); err == nil {
					t.Errorf("%s was accepted", name)
				}
				return nil
			})
			if err == nil {
				t.Errorf("%s was committed", name)
			}
		}
		if pets := listPets(t, store, shop.PetList{}); len(pets) != 1 || pets[0] != pet {
			t.Errorf("found %v, want %v", pets, pet)
		}
	}},

	{name: "assigned ids ascend and skip the ids in use", run: func(t *testing.T, store shop.Store) {
		for _, id := range []int64{2, 3, 4, 6} {
			ensureCategory(t, store, id)
		}
		for _, want := range []int64{1, 5, 7, 8} {
			write(t, store, func(tx shop.WriteTx) error {
				got, err := tx.AssignCategoryIDs(1)
				if !slices.Equal(got, []int64{want}) {
					t.Errorf("assigned %d, want %d", got, want)
				}
				return err
			})
		}
		store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
			if _, err := tx.AssignCategoryIDs(1); err != nil {
				t.Error(err)
			}
			return errOnPurpose
		})
		write(t, store, func(tx shop.WriteTx) error {
			got, err := tx.AssignCategoryIDs(1)
			if !slices.Equal(got, []int64{9}) {
				t.Errorf("assigned %d after a failed write, want 9", got)
			}
			return err
		})
	}},
}
