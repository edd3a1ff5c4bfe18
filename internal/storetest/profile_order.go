package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

// orderedIDs returns the ids of the animals that a list selects, on all of its pages.
func orderedIDs(t *testing.T, store shop.Store, list shop.ProfileList) (ids []int64) {
	t.Helper()
	for ids = []int64{}; ; {
		page := get(t, store, func(tx shop.ReadTx) (shop.Page[shop.Profile], error) { return tx.Profiles(list) })
		if len(page.Items) > list.Limit {
			t.Fatalf("a page with the limit %d has %d profiles", list.Limit, len(page.Items))
		}
		for _, p := range page.Items {
			ids = append(ids, p.Pet.ID)
		}
		if !page.More {
			return ids
		}
		if list.After, list.AfterKey = page.Stopped, page.StoppedKey; list.After == nil {
			last := page.Items[len(page.Items)-1]
			list.After, list.AfterKey = &last.Pet.ID, list.Key(last)
		}
	}
}

var profileOrderCases = []testCase{
	{name: "a list is sorted by name, price and age", run: func(t *testing.T, store shop.Store) {
		var all []shop.Profile
		price := func(amount, currency string) shop.Price { return shop.Price{Amount: amount, Currency: currency} }
		for i, p := range []shop.Profile{
			{Pet: shop.Pet{Name: "Zoe"}, Price: price("100", "EUR"), BirthDate: "2021-02-28"},
			{Pet: shop.Pet{Name: "ábel"}, Price: price("99.99", "EUR"), BirthDate: "2021-03-01"},
			{Pet: shop.Pet{Name: "Abel"}, Price: price("00020", "EUR")},
			{Pet: shop.Pet{Name: " abel"}, Price: price("999999999.99", "EUR"), BirthDate: "1999-12-31"},
			{Pet: shop.Pet{Name: "Äpfel"}},
			{Pet: shop.Pet{Name: "Ørsted"}, Price: price("5000", "JPY"), BirthDate: "2021-02-28"},
			{Pet: shop.Pet{Name: "zoË"}, Price: price("0", "USD"), BirthDate: "2026-01-01"},
			{Pet: shop.Pet{Name: "\u0301"}, Price: price("12.3456", "UYW")},
			{Pet: shop.Pet{Name: "白狗"}, Price: price("12.345", "BHD"), BirthDate: "2021-02-28"},
			{Pet: shop.Pet{Name: "Rex 1"}, Price: price("12.34", "CHF"), BirthDate: "2020-02-29"},
			{Pet: shop.Pet{Name: "Rex 1"}, Price: price("100.00", "EUR")},
		} {
			p.Pet = addPet(t, store, shop.NewPet{Name: p.Pet.Name, CategoryID: int64(1 + i%2), Status: []shop.Status{"", shop.Sold}[i%2]})
			if p.Price != (shop.Price{}) || p.BirthDate != "" {
				p.UpdatedAt, p.Sex = noonOf2026, []shop.Sex{shop.Female, shop.Male, ""}[i%3]
				setProfile(t, store, p)
			}
			all = append(all, p)
		}
		gone := fullProfile(addPet(t, store, shop.NewPet{Name: "Abel", CategoryID: 1}))
		setProfile(t, store, gone)
		write(t, store, func(tx shop.WriteTx) error { return tx.DeletePet(gone.Pet) })
		indexSearch(t, store)
		for i, list := range []shop.ProfileList{
			{Order: shop.ByName}, {Order: shop.CheapestFirst, Currency: "EUR"}, {Order: shop.DearestFirst, Currency: "EUR"}, {Order: shop.YoungestFirst},
			{Order: shop.EldestFirst}, {Order: shop.CheapestFirst}, {Order: shop.DearestFirst, Currency: "XXX"}, {Order: shop.OldestFirst},
		} {
			for _, filter := range []shop.ProfileFilter{
				{}, {Sex: shop.Female}, {PetFilter: shop.PetFilter{Status: shop.Sold}}, {PetFilter: shop.PetFilter{CategoryID: new(int64(1))}, Sex: shop.Male},
				{NoPhotos: true}, {Published: new(true)}, {PetFilter: shop.PetFilter{Query: "e"}}, {PetFilter: shop.PetFilter{IDs: []int64{2, 5, 7, 999}}},
			} {
				for _, list.Limit = range []int{1, 3, 20} {
					list.ProfileFilter = filter
					want := shop.ProfileList{ProfileFilter: filter, Order: list.Order, Currency: list.Currency, PageRequest: shop.PageRequest{Limit: 100}}.PageOf(
						slices.DeleteFunc(slices.Clone(all), func(p shop.Profile) bool {
							return !filter.Matches(p) || !shop.ContainsWords(p.Words(false), shop.SearchWords(filter.Query)) ||
								filter.IDs != nil && !slices.Contains(filter.IDs, p.Pet.ID)
						})).Items
					wanted := []int64{}
					for _, p := range want {
						wanted = append(wanted, p.Pet.ID)
					}
					if diff := cmp.Diff(wanted, orderedIDs(t, store, list)); diff != "" {
						t.Errorf("%d: %+v: (-want +got)\n%s", i, list, diff)
					}
				}
			}
		}
		for order, want := range map[shop.ProfileOrder][]int64{
			// "\u0301" is all mark and has itself as its key.
			shop.ByName: {2, 3, 4, 5, 6, 10, 11, 1, 7, 8, 9}, shop.CheapestFirst: {3, 2, 1, 11, 4, 9, 10, 6, 7, 8, 5},
			shop.DearestFirst: {4, 11, 1, 2, 3, 8, 7, 6, 10, 9, 5}, shop.YoungestFirst: {7, 2, 9, 6, 1, 10, 4, 11, 8, 5, 3},
			shop.EldestFirst: {4, 10, 1, 6, 9, 2, 7, 11, 8, 5, 3}, shop.OldestFirst: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
		} {
			list := shop.ProfileList{Order: order, Currency: "EUR", PageRequest: shop.PageRequest{Limit: 2}}
			if got := orderedIDs(t, store, list); !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", order, got, want)
			}
		}
	}},

	// The work for one page is bounded, however many animals the filters leave out, and the pages together show all others.
	{name: "a long sorted list with filters is complete", run: func(t *testing.T, store shop.Store) {
		const n, rare = 2600, 1050
		var all []shop.Profile
		write(t, store, func(tx shop.WriteTx) error {
			if _, err := tx.EnsureCategories(1); err != nil {
				return err
			}
			var list []shop.NewPet
			for i := range n {
				list = append(list, shop.NewPet{Name: fmt.Sprintf("%c%04d", 'a'+i*7%26, i), CategoryID: 1})
			}
			pets, err := tx.InsertPets(list...)
			if err != nil {
				return err
			}
			var updates []shop.ProfileUpdate
			all = all[:0]
			for i, pet := range pets {
				p := shop.Profile{Pet: pet, Sex: shop.Male, UpdatedAt: noonOf2026}
				if i >= n-rare {
					p.Sex = shop.Female
				}
				if i%5 > 0 {
					p.Price, p.BirthDate = shop.Price{Amount: fmt.Sprint(i * 31 % 997), Currency: []string{"CHF", "EUR"}[i/3%2]}, fmt.Sprintf("20%02d-01-01", i*13%25)
				}
				all, updates = append(all, p), append(updates, shop.ProfileUpdate{Before: shop.Profile{Pet: pet}, After: p})
			}
			return tx.UpdateProfiles(updates...)
		})
		indexSearch(t, store)
		for _, order := range []shop.ProfileOrder{shop.ByName, shop.CheapestFirst, shop.YoungestFirst, shop.OldestFirst} {
			for _, filter := range []shop.ProfileFilter{
				{}, {Sex: shop.Female, NoPhotos: true}, {NoPhotos: true, PetFilter: shop.PetFilter{Query: "9"}},
			} {
				list := shop.ProfileList{ProfileFilter: filter, Order: order, Currency: "EUR", PageRequest: shop.PageRequest{Limit: 300}}
				var want []int64
				whole := list
				whole.Limit = n
				for _, p := range whole.PageOf(slices.DeleteFunc(slices.Clone(all), func(p shop.Profile) bool {
					return !filter.Matches(p) || !shop.ContainsWords(p.Words(false), shop.SearchWords(filter.Query))
				})).Items {
					want = append(want, p.Pet.ID)
				}
				if diff := cmp.Diff(want, orderedIDs(t, store, list)); diff != "" {
					t.Errorf("%+v: (-want +got)\n%s", list, diff)
				}
			}
		}
	}},

	{name: "a new name is sorted when it has been indexed", run: func(t *testing.T, store shop.Store) {
		var pets []shop.Pet
		for _, name := range []string{"Bella", "Anna", "Coco"} {
			pets = append(pets, addPet(t, store, shop.NewPet{Name: name, CategoryID: 1}))
		}
		want := func(want ...int64) {
			t.Helper()
			list := shop.ProfileList{Order: shop.ByName, PageRequest: shop.PageRequest{Limit: 2}}
			if got := orderedIDs(t, store, list); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		indexSearch(t, store)
		want(2, 1, 3)
		renamed := pets[1]
		renamed.Name = "Dora"
		write(t, store, func(tx shop.WriteTx) error { return tx.UpdatePets(shop.PetUpdate{Before: pets[1], After: renamed}) })
		want(1, 3, 2) // last, because its name has no key
		indexSearch(t, store)
		want(1, 3, 2)
		sold := pets[2]
		sold.Status = shop.Sold
		write(t, store, func(tx shop.WriteTx) error { return tx.UpdatePets(shop.PetUpdate{Before: pets[2], After: sold}) })
		want(1, 3, 2)
		write(t, store, func(tx shop.WriteTx) error { return tx.DeletePet(pets[0]) })
		write(t, store, func(tx shop.WriteTx) error { return tx.RestorePet(pets[0]) })
		indexSearch(t, store)
		want(1, 3, 2)
	}},
}
