package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"animalstore/internal/shop"
)

var profileSearchCases = []testCase{
	{name: "a search looks into every word that the key may see", run: func(t *testing.T, store shop.Store) {
		pet := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1, Status: shop.Available})
		addPet(t, store, shop.NewPet{Name: "Beatrix", CategoryID: 1})
		p := shop.Profile{
			Pet: pet, Breeds: []string{"Beagle", "Épagneul"}, Color: "black and tan", Tags: []string{"Friendly", "house-trained"},
			Microchip: "276098106123456", Location: "Kennel Süd", Notes: "unlisted", Description: "unlisted", UpdatedAt: noonOf2026,
		}
		setProfile(t, store, p)
		for _, indexed := range []bool{false, true} {
			for query, internal := range map[string]bool{
				"rex": false, "beag": false, "epagneul rex": false, "tan FRIEND beagle": false, "house-tr": false, "an": false,
				"276098": true, "sud": true, "kennel rex beagle 3456": true,
			} {
				for _, mayWrite := range []bool{false, true} {
					var want []int64
					if mayWrite || !internal {
						want = []int64{pet.ID}
					}
					wantProfileIDs(t, store, shop.ProfileFilter{PetFilter: shop.PetFilter{Query: query}, Internal: mayWrite}, want...)
				}
			}
			for _, query := range []string{"unlisted", "beagleepagneul", "friendly,house", "rexbeagle", "rex cat"} {
				wantProfileIDs(t, store, shop.ProfileFilter{PetFilter: shop.PetFilter{Query: query}, Internal: true})
			}
			if indexed {
				break
			}
			indexSearch(t, store)
		}
	}},

	{name: "words are found in different texts while many wait", run: func(t *testing.T, store shop.Store) {
		var pets []shop.Pet
		add := func(from, to int) {
			write(t, store, func(tx shop.WriteTx) error {
				var list []shop.NewPet
				for i := from; i < to; i++ {
					list = append(list, shop.NewPet{Name: fmt.Sprintf("number%04d", i), CategoryID: 1})
				}
				if _, err := tx.EnsureCategories(1); err != nil {
					return err
				}
				added, err := tx.InsertPets(list...)
				pets = append(pets[:from], added...)
				return err
			})
		}
		profile := func(from, to int) {
			write(t, store, func(tx shop.WriteTx) error {
				var updates []shop.ProfileUpdate
				for i := from; i < to; i++ {
					after := shop.Profile{Pet: pets[i], Breeds: []string{fmt.Sprintf("breed%04d", i)}, Location: fmt.Sprintf("kennel%04d", i), UpdatedAt: noonOf2026}
					updates = append(updates, shop.ProfileUpdate{Before: shop.Profile{Pet: pets[i]}, After: after})
				}
				return tx.UpdateProfiles(updates...)
			})
		}
		want := func(n int) {
			t.Helper()
			for _, query := range []string{"number%04d breed%04d", "kennel%04d number%04d", "breed%04d kennel%04d", "d%04d 1 l%04d"} {
				filter := shop.ProfileFilter{PetFilter: shop.PetFilter{Query: fmt.Sprintf(query, n, n)}, Internal: true}
				wantProfileIDs(t, store, filter, pets[n].ID)
			}
		}
		add(0, 1200)
		indexSearch(t, store)
		profile(0, 1100) // the names are indexed, but not the profiles
		want(1011)
		indexSearch(t, store)
		want(1011)
		profile(1100, 1200)
		add(1200, 2400)
		profile(1200, 2400) // nothing of these is indexed
		want(1011)
		want(1111)
		want(2111)
	}},

	// A search finds exactly what a comparison of all profiles finds, whether animals and profiles were written, changed,
	// emptied, removed or restored before or after they were indexed.
	{name: "a search of profiles finds what a comparison of all finds", run: func(t *testing.T, store shop.Store) {
		random := rand.New(rand.NewPCG(3, 4))
		words := []string{"beagle", "boxer", "black", "friendly", "wolf", "bengal", "жук", "白狗一", "ag"}
		word := func() string { return words[random.IntN(len(words))] }
		profiles, removed := map[int64]shop.Profile{}, map[int64]shop.Profile{}
		change := func(tx shop.WriteTx) error {
			for range 10 {
				pet, err := insertPet(tx, shop.NewPet{Name: word() + " " + word(), CategoryID: 1, Status: shop.Statuses()[random.IntN(2)]})
				if err != nil {
					return err
				}
				profiles[pet.ID] = shop.Profile{Pet: pet}
			}
			for _, id := range slices.Sorted(maps.Keys(profiles)) {
				before := profiles[id]
				after := shop.Profile{Pet: before.Pet}
				switch random.IntN(12) {
				default:
					continue
				case 0:
					if err := tx.DeletePet(before.Pet); err != nil {
						return err
					}
					removed[id] = before
					delete(profiles, id)
					continue
				case 1: // the profile is emptied
				case 2, 3, 4, 5:
					after.Breeds, after.Tags, after.UpdatedAt = []string{word()}, []string{word(), fmt.Sprint(word(), random.IntN(9))}, noonOf2026
					if random.IntN(2) == 0 {
						after.Color, after.Location, after.Sex = word(), word(), shop.Female
					}
				}
				if err := tx.UpdateProfiles(shop.ProfileUpdate{Before: before, After: after}); err != nil {
					return err
				}
				profiles[id] = after
			}
			for _, id := range slices.Sorted(maps.Keys(removed)) {
				if random.IntN(3) == 0 {
					if err := tx.RestorePet(removed[id].Pet); err != nil {
						return err
					}
					profiles[id] = removed[id]
					delete(removed, id)
				}
			}
			return nil
		}
		for range 12 {
			var kept, keptRemoved map[int64]shop.Profile
			err := store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
				if kept == nil {
					kept, keptRemoved = maps.Clone(profiles), maps.Clone(removed)
				} else { // the transaction runs again
					profiles, removed = maps.Clone(kept), maps.Clone(keptRemoved)
				}
				return change(tx)
			})
			if err != nil {
				t.Fatal(err)
			}
			if random.IntN(3) > 0 {
				indexSearch(t, store)
			}
			for range 12 {
				filter := shop.ProfileFilter{PetFilter: shop.PetFilter{Query: word()}, Internal: random.IntN(2) == 0}
				if random.IntN(2) == 0 {
					filter.Query += " " + word()
				}
				if random.IntN(3) == 0 {
					filter.Sex = shop.Female
				}
				var want []int64
				for id, p := range profiles {
					if filter.Matches(p) && shop.ContainsWords(p.Words(filter.Internal), shop.SearchWords(filter.Query)) {
						want = append(want, id)
					}
				}
				slices.SortFunc(want, func(a, b int64) int { return int(b - a) })
				wantProfileIDs(t, store, filter, want...)
			}
		}
	}},
}
