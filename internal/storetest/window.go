package storetest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

func wantWasPublished(t *testing.T, store shop.Store, id int64, want bool) {
	t.Helper()
	if got := get(t, store, func(tx shop.ReadTx) (bool, error) { return tx.WasPublished(id) }); got != want {
		t.Errorf("animal %d was published: got %v, want %v", id, got, want)
	}
}

var windowCases = []testCase{
	{name: "it shows published animals that are available or pending", run: func(t *testing.T, store shop.Store) {
		// Three animals for each status in two categories: one is published, one is not, one has no profile.
		for category := range int64(2) {
			for _, status := range append(shop.Statuses(), "") {
				for i := range 3 {
					pet := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: category + 1, Status: status})
					profile := fullProfile(pet)
					profile.Published, profile.Sex, profile.Tags = i == 0, shop.Sexes()[category], []string{"Calm", "cat " + string(rune('a'+category))}
					if i < 2 {
						setProfile(t, store, profile)
					}
				}
			}
		}
		window := shop.ProfileFilter{InWindow: true}
		wantProfileIDs(t, store, window, 16, 13, 4, 1)
		filtered := window
		filtered.CategoryID = new(int64(1))
		wantProfileIDs(t, store, filtered, 4, 1)
		filtered.Sex = shop.Male
		wantProfileIDs(t, store, filtered)
		filtered.Sex = shop.Female
		wantProfileIDs(t, store, filtered, 4, 1)
		filtered = window
		filtered.Tags = []string{"CALM"}
		wantProfileIDs(t, store, filtered, 16, 13, 4, 1)
		filtered.Tags, filtered.Size = []string{"Cat B", "calm"}, shop.ExtraLarge
		wantProfileIDs(t, store, filtered, 16, 13)
		filtered.Size = shop.Small
		wantProfileIDs(t, store, filtered)

		categories := func(limit int) []int64 {
			return get(t, store, func(tx shop.ReadTx) ([]int64, error) { return tx.WindowCategories(limit) })
		}
		if got := categories(10); !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("got the categories %v, want 1 and 2", got)
		}
		if got := categories(1); !slices.Equal(got, []int64{1}) {
			t.Errorf("got the categories %v, want only 1", got)
		}
		rows := get(t, store, func(tx shop.ReadTx) ([]shop.WindowRow, error) { return tx.WindowRows(2) })
		want := []shop.WindowRow{
			{ID: 16, UpdatedAt: noonOf2026, Sex: shop.Male, Size: shop.ExtraLarge, Tags: []string{"Calm", "cat b"}},
			{ID: 13, UpdatedAt: noonOf2026, Sex: shop.Male, Size: shop.ExtraLarge, Tags: []string{"Calm", "cat b"}},
		}
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Errorf("rows (-want +got)\n%s", diff)
		}
	}},
	{name: "it is remembered that an animal was published", run: func(t *testing.T, store shop.Store) {
		pet := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1, Status: shop.Available})
		wantWasPublished(t, store, pet.ID, false)
		profile := shop.Profile{Pet: pet, Description: "A dog.", UpdatedAt: noonOf2026}
		setProfile(t, store, profile)
		wantWasPublished(t, store, pet.ID, false)
		for range 2 { // the second time it is known already
			profile.Published = true
			setProfile(t, store, profile)
			wantWasPublished(t, store, pet.ID, true)
			profile.Published = false
			setProfile(t, store, profile)
			wantWasPublished(t, store, pet.ID, true)
		}
		write(t, store, func(tx shop.WriteTx) error { return tx.DeletePet(pet) })
		wantWasPublished(t, store, pet.ID, true)
		if got := get(t, store, func(tx shop.ReadTx) ([]int64, error) { return tx.WindowCategories(10) }); len(got) != 0 {
			t.Errorf("got the categories %v of an empty window", got)
		}
	}},
}
