package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

// noonOf2026 is the time at which the profiles in these tests are written.
var noonOf2026 = time.Date(2026, 5, 4, 12, 0, 0, 1000, time.UTC)

// fullProfile returns a profile in which every member is set.
func fullProfile(pet shop.Pet) shop.Profile {
	p := shop.Profile{
		Pet: pet, Published: true, Description: "A dog.\n\n" + strings.Repeat("ä🐕", 1990), Breeds: []string{"Beagle", `"Fox", terrier`}, Mixed: shop.Yes,
		Sex: shop.Female, BirthDate: "2021-02-28", BirthDateEstimated: shop.No, Size: shop.ExtraLarge, Color: "black & tan",
		Price: shop.Price{Amount: "250.00", Currency: "EUR"}, ArrivalDate: "2026-05-04", Tags: []string{" Friendly ", "Köln", "a b"},
		ContactURL: "mailto:shop@example.com", Microchip: "276098106123456", Location: "Kennel 4", Notes: "Bites\npostmen", UpdatedAt: noonOf2026,
	}
	for trait := range p.Traits {
		p.Traits[trait] = shop.AnswerOf(trait%2 == 0)
	}
	return p
}

// setProfile replaces the profile of an animal in a separate write transaction.
func setProfile(t *testing.T, store shop.Store, p shop.Profile) {
	t.Helper()
	write(t, store, func(tx shop.WriteTx) error {
		before, _, err := tx.Profile(p.Pet.ID)
		if err != nil {
			return err
		}
		return tx.UpdateProfiles(shop.ProfileUpdate{Before: before, After: p})
	})
}

func wantProfile(t *testing.T, store shop.Store, want shop.Profile) {
	t.Helper()
	wantFound(t, store, &want, func(tx shop.ReadTx) (shop.Profile, bool, error) { return tx.Profile(want.Pet.ID) })
}

// listProfiles returns all profiles that a list selects. It follows the pages, each of which has the given limit.
func listProfiles(t *testing.T, store shop.Store, filter shop.ProfileFilter, limit int) (found []shop.Profile) {
	t.Helper()
	list := shop.ProfileList{ProfileFilter: filter, PageRequest: shop.PageRequest{Limit: limit}}
	for found = []shop.Profile{}; ; {
		page := get(t, store, func(tx shop.ReadTx) (shop.Page[shop.Profile], error) { return tx.Profiles(list) })
		if len(page.Items) > limit {
			t.Fatalf("a page with the limit %d has %d profiles", limit, len(page.Items))
		}
		if found = append(found, page.Items...); !page.More {
			return found
		}
		list.After = new(page.Next(func(p shop.Profile) int64 { return p.Pet.ID }))
	}
}

func wantProfileIDs(t *testing.T, store shop.Store, filter shop.ProfileFilter, want ...int64) {
	t.Helper()
	var got []int64
	for _, profile := range listProfiles(t, store, filter, 2) {
		got = append(got, profile.Pet.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v: got the profiles of the animals %v, want %v", filter, got, want)
	}
}

var profileCases = []testCase{
	{name: "a profile is stored, changed and emptied", run: func(t *testing.T, store shop.Store) {
		pet := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1, Status: shop.Sold})
		other := addPet(t, store, shop.NewPet{Name: "Mia", CategoryID: 2})
		wantProfile(t, store, shop.Profile{Pet: pet})
		full := fullProfile(pet)
		setProfile(t, store, full)
		wantProfile(t, store, full)
		wantProfile(t, store, shop.Profile{Pet: other})
		for _, changed := range []shop.Profile{
			{Pet: pet, Breeds: []string{"Boxer"}, Mixed: shop.No, Tags: []string{"köln", "New"}, UpdatedAt: noonOf2026.Add(time.Second)},
			{Pet: pet, Notes: "only notes", UpdatedAt: noonOf2026.Add(2 * time.Second)},
			full,
			{Pet: pet}, // it is empty again
			{Pet: pet, Published: true, UpdatedAt: noonOf2026},
		} {
			setProfile(t, store, changed)
			wantProfile(t, store, changed)
		}
		wantFound(t, store, nil, func(tx shop.ReadTx) (shop.Profile, bool, error) { return tx.Profile(99) })
	}},

	{name: "many profiles are changed at once", run: func(t *testing.T, store shop.Store) {
		var updates []shop.ProfileUpdate
		for i := range 130 {
			pet := addPet(t, store, shop.NewPet{Name: fmt.Sprint("Rex ", i), CategoryID: 1})
			after := fullProfile(pet)
			after.Published, after.Tags = i%3 == 0, []string{"all", fmt.Sprint("Tag ", i)}
			updates = append(updates, shop.ProfileUpdate{Before: shop.Profile{Pet: pet}, After: after})
		}
		write(t, store, func(tx shop.WriteTx) error { return tx.UpdateProfiles(updates...) })
		for i, u := range updates {
			wantProfile(t, store, u.After)
			u.Before, u.After.Color, u.After.Published, u.After.Tags = u.After, "white", !u.After.Published, []string{"all"}
			updates[i] = u
		}
		write(t, store, func(tx shop.WriteTx) error { return tx.UpdateProfiles(updates...) })
		ids, after := []int64{99999}, map[int64]shop.Profile{}
		for _, u := range updates {
			wantProfile(t, store, u.After)
			ids, after[u.After.Pet.ID] = append(ids, u.After.Pet.ID), u.After
		}
		empty := shop.Profile{Pet: addPet(t, store, shop.NewPet{Name: "Mia", CategoryID: 1})}
		ids, after[empty.Pet.ID] = append(ids, empty.Pet.ID), empty
		byID := map[int64]shop.Profile{}
		for _, p := range get(t, store, func(tx shop.ReadTx) ([]shop.Profile, error) { return tx.ProfilesByID(ids) }) {
			byID[p.Pet.ID] = p
		}
		if diff := cmp.Diff(after, byID); diff != "" {
			t.Errorf("the profiles by id (-want +got)\n%s", diff)
		}
		for published, want := range map[bool]int{true: 86, false: 45} {
			if got := listProfiles(t, store, shop.ProfileFilter{Published: &published}, 50); len(got) != want {
				t.Errorf("%d profiles are published=%v, want %d", len(got), published, want)
			}
		}
		wantProfileIDs(t, store, shop.ProfileFilter{Tags: []string{"tag 7"}})
	}},

	{name: "filters of profiles combine", run: func(t *testing.T, store shop.Store) {
		all := manyProfiles(t, store)
		ids := []int64{all[0].Pet.ID, all[5].Pet.ID, all[17].Pet.ID, all[30].Pet.ID, 99999}
		for _, status := range []shop.Status{"", shop.Available} {
			for _, category := range []*int64{nil, new(int64(2))} {
				for _, ids := range [][]int64{nil, ids} {
					for _, published := range []*bool{nil, new(false), new(true)} {
						for _, sex := range []shop.Sex{"", shop.Male} {
							for _, size := range []shop.Size{"", shop.Small, shop.Large} {
								for _, tags := range [][]string{nil, {"RED "}, {"red", "blue"}, {"green"}} {
									f := shop.ProfileFilter{PetFilter: shop.PetFilter{Status: status, CategoryID: category, IDs: ids}, Published: published, Sex: sex, Size: size, Tags: tags}
									want := slices.DeleteFunc(slices.Clone(all), func(p shop.Profile) bool {
										return !f.Matches(p) || ids != nil && !slices.Contains(ids, p.Pet.ID)
									})
									if diff := cmp.Diff(want, listProfiles(t, store, f, 7)); diff != "" {
										t.Errorf("%+v: (-want +got)\n%s", f, diff)
									}
								}
							}
						}
					}
				}
			}
		}
	}},

	{name: "a removed animal keeps its profile", run: func(t *testing.T, store shop.Store) {
		pet := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1, Status: shop.Sold})
		other := addPet(t, store, shop.NewPet{Name: "Mia", CategoryID: 1})
		full, sibling := fullProfile(pet), fullProfile(other)
		setProfile(t, store, full)
		setProfile(t, store, sibling)
		filters := []shop.ProfileFilter{{}, {Published: new(true)}, {Sex: full.Sex}, {Size: full.Size}, {Tags: []string{"friendly"}}}
		write(t, store, func(tx shop.WriteTx) error { return tx.DeletePet(pet) })
		wantFound(t, store, nil, func(tx shop.ReadTx) (shop.Profile, bool, error) { return tx.Profile(pet.ID) })
		for _, filter := range filters {
			wantProfileIDs(t, store, filter, other.ID)
		}
		write(t, store, func(tx shop.WriteTx) error { return tx.RestorePet(pet) })
		wantProfile(t, store, full)
		for _, filter := range filters {
			wantProfileIDs(t, store, filter, other.ID, pet.ID)
		}
	}},

	{name: "a profile is removed with the events of its removed animal", clocked: func(t *testing.T, store shop.Store, clock *testClock) {
		clock.set(noonOf2026)
		var pets []shop.Pet
		for _, name := range []string{"removed", "restored", "removed twice"} {
			pet := addPet(t, store, shop.NewPet{Name: name, CategoryID: 1})
			setProfile(t, store, fullProfile(pet))
			removePet(t, store, pet)
			pets = append(pets, pet)
		}
		restore := func(pet shop.Pet) {
			write(t, store, func(tx shop.WriteTx) error {
				if err := tx.RestorePet(pet); err != nil {
					return err
				}
				return tx.InsertEvents(newEvent(shop.PetRestored, fmt.Sprint("pets/", pet.ID)))
			})
		}
		restore(pets[1])
		restore(pets[2])
		publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 1})
		clock.set(noonOf2026.Add(time.Hour))
		removePet(t, store, pets[2])
		publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 1})
		removeEventsBefore(t, store, noonOf2026.Add(time.Minute))
		restore(pets[2])
		restore(pets[0]) // the service would refuse this, because there are no events about the animal
		wantProfile(t, store, fullProfile(pets[1]))
		wantProfile(t, store, fullProfile(pets[2]))
		wantProfile(t, store, shop.Profile{Pet: pets[0]})
	}},
}

// removePet removes an animal in a separate write transaction, with its event.
func removePet(t *testing.T, store shop.Store, pet shop.Pet) {
	t.Helper()
	write(t, store, func(tx shop.WriteTx) error {
		if err := tx.DeletePet(pet); err != nil {
			return err
		}
		return tx.InsertEvents(newEvent(shop.PetDeleted, fmt.Sprint("pets/", pet.ID)))
	})
}

// removeEventsBefore removes all events from before the given time.
func removeEventsBefore(t *testing.T, store shop.Store, before time.Time) {
	t.Helper()
	write(t, store, func(tx shop.WriteTx) error {
		now, err := tx.Now()
		for more := true; more && err == nil; {
			more, err = tx.RemoveEvents(before, before, now)
		}
		return err
	})
}

// manyProfiles adds animals with profiles that differ in everything that a filter compares. It returns the profiles in
// the order of the lists.
func manyProfiles(t *testing.T, store shop.Store) (all []shop.Profile) {
	t.Helper()
	n := 0
	for _, sex := range []shop.Sex{"", shop.Female, shop.Male} {
		for _, size := range []shop.Size{"", shop.Small, shop.Large} {
			for _, tags := range [][]string{nil, {"Red"}, {"blue", " RED"}, {"Blue"}} {
				n++
				status := []shop.Status{"", shop.Available, shop.Sold}[n%3]
				pet := addPet(t, store, shop.NewPet{Name: fmt.Sprint("Rex ", n), CategoryID: int64(n % 2 * 2), Status: status})
				p := shop.Profile{Pet: pet, Published: n%5 > 1, Sex: sex, Size: size, Tags: tags}
				if p.Published || sex != "" || size != "" || tags != nil {
					p.UpdatedAt = noonOf2026
					setProfile(t, store, p)
				}
				all = append(all, p)
			}
		}
	}
	slices.Reverse(all)
	return all
}
