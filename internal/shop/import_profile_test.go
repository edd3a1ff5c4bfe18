package shop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// cells is what a row of a table says of a profile.
func cells(fill func(*shop.ProfileRow)) *shop.ProfileRow {
	row := &shop.ProfileRow{Columns: true}
	fill(row)
	return row
}

// exportedProfile returns the row that an export with profiles contains for an animal, with another profile.
func exportedProfile(t *testing.T, s *shoptest.Shop, line int, id int64, fill func(*shop.ProfileRow)) shop.ImportRow {
	t.Helper()
	profile := must(s.Profile(t.Context(), id))(t)
	row := exported(line, profile.Pet)
	row.ProfileETag, row.Profile = profile.MembersETag(), cells(fill)
	return row
}

// said returns the writable members of a profile as JSON.
func said(t *testing.T, s *shoptest.Shop, id int64) string {
	t.Helper()
	text := string(must(s.Profile(t.Context(), id))(t).AppendJSON(nil))
	_, text, _ = strings.Cut(text, `"published":`)
	if text, _, written := strings.Cut(text, `,"updatedAt"`); written {
		return text
	}
	return strings.TrimSuffix(text, "}")
}

// An import writes animals and profiles in one step. The profiles are found at once, and each change has its event.
func TestImportWritesProfiles(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, _ []*shop.Service) {
		rex, mia, tom := s.AddPet(t, "Rex", 1, shop.Available), s.AddPet(t, "Mia", 1, ""), s.AddPet(t, "Tom", 1, "")
		full := shop.ProfileChange{
			Description: new("old"), Breeds: &[]string{"Beagle", "Boxer"}, Sex: new(shop.Male), Price: &shop.Price{Amount: "250.00", Currency: "EUR"},
			Traits: map[shop.Trait]shop.Answer{shop.Neutered: shop.Yes, shop.Vaccinated: shop.Yes}, Tags: &[]string{" Calm", "big"}, Notes: new("secret"), Microchip: new("040098100000001"),
		}
		for _, pet := range []shop.Pet{rex, tom} {
			must(s.UpdateProfile(t.Context(), shop.Caller{}, pet.ID, full, nil))(t)
		}
		rows := func() []shop.ImportRow {
			changed := exportedProfile(t, s, 2, rex.ID, func(r *shop.ProfileRow) {
				r.Description, r.Breed, r.Amount, r.Sex, r.Color = new(""), new("Boxer"), new("300"), new(shop.Sex("")), new("black and tan")
				r.Traits = map[shop.Trait]shop.Answer{shop.Neutered: shop.Unknown, shop.GoodWithDogs: shop.No}
			})
			changed.Name = "Rexi"
			first := exportedProfile(t, s, 3, mia.ID, func(r *shop.ProfileRow) {
				r.Published, r.Tags, r.SecondBreed = new(true), &[]string{"Playful"}, new("Siamese")
			})
			same := exportedProfile(t, s, 4, tom.ID, func(r *shop.ProfileRow) { // as a spreadsheet program writes it
				r.Description, r.Amount, r.Currency, r.Tags = new("old"), new("250"), new("EUR"), &[]string{"Calm", "big"}
				r.Microchip = new("40098100000001")
			})
			fresh := shop.ImportRow{Line: 5, NewPet: shop.NewPet{Name: "Leo", CategoryID: 1}}
			fresh.Profile = cells(func(r *shop.ProfileRow) {
				r.Size, r.Amount, r.Currency, r.Location = new(shop.Large), new("0"), new("USD"), new("Kennel 9")
			})
			unsaid := shop.ImportRow{Line: 6, NewPet: shop.NewPet{Name: "Max", CategoryID: 1}}
			unsaid.Profile = cells(func(r *shop.ProfileRow) { r.Published, r.Color, r.Currency = new(false), new(""), new("EUR") })
			return []shop.ImportRow{changed, first, same, fresh, unsaid}
		}
		check(t, s.Store.Publish(t.Context()))
		last := must(s.LastEvent(t.Context()))(t)
		want := shop.ImportResult{Created: 2, Updated: 2}
		equal(t, "the dry run", must(s.ImportPets(t.Context(), shop.Caller{}, rows(), shop.ImportOptions{Upsert: true, DryRun: true}))(t), want)
		equal(t, "events of the dry run", len(eventsAfter(t, s, last)), 0)
		equal(t, "the import", must(s.ImportPets(t.Context(), shop.Caller{}, rows(), upsert))(t), want)
		check(t, s.Store.Publish(t.Context()))
		equal(t, "the events", strings.Join(eventsAfter(t, s, last), ", "), "pet.updated pets/1, pet.created pets/4, pet.created pets/5, "+
			"profile.updated pets/1/profile, profile.updated pets/2/profile, profile.updated pets/4/profile")
		for id, want := range map[int64]string{
			1: `false,"breeds":["Boxer","Boxer"],"color":"black and tan","price":{"amount":"300","currency":"EUR"},"traits":{"vaccinated":true,"goodWithDogs":false},"tags":[" Calm","big"],"microchip":"040098100000001","notes":"secret"`,
			2: `true,"breeds":["Siamese"],"tags":["Playful"]`,
			4: `false,"size":"large","price":{"amount":"0","currency":"USD"},"location":"Kennel 9"`,
			5: `false`,
		} {
			equal(t, "the profile", said(t, s, id), want)
		}
		equal(t, "the animal in the profile", must(s.Profile(t.Context(), 1))(t).Pet.Name, "Rexi")
		equal(t, "whether an empty profile has a time", must(s.Profile(t.Context(), 5))(t).UpdatedAt.IsZero(), true)
		for query, want := range map[string]string{"tan rexi": "[1]", "siamese": "[2]", "playful": "[2]", "kennel": "[4]"} {
			equal(t, "found by "+query, found(t, s, shop.ProfileFilter{PetFilter: shop.PetFilter{Query: query}, Internal: true}), want)
		}
		equal(t, "the published animals", found(t, s, shop.ProfileFilter{Published: new(true)}), "[2]")
		equal(t, "the large animals", found(t, s, shop.ProfileFilter{Size: shop.Large}), "[4]")
		equal(t, "the male animals", found(t, s, shop.ProfileFilter{Sex: shop.Male}), "[3]")
		equal(t, "the calm animals", found(t, s, shop.ProfileFilter{Tags: []string{"calm"}}), "[3 1]")
		for _, event := range must(s.ListEvents(t.Context(), shop.Caller{}, shop.EventFilter{}, shop.PageRequest{Limit: 100}))(t).Items {
			if text := string(event.Data); strings.Contains(text, "secret") || strings.Contains(text, "Kennel") {
				t.Errorf("an event contains internal members: %s", text)
			}
		}
	})
}

// found returns the ids of the animals whose profiles match a filter.
func found(t *testing.T, s *shoptest.Shop, filter shop.ProfileFilter) string {
	t.Helper()
	var ids []int64
	for _, profile := range must(s.ListProfiles(t.Context(), shop.Caller{}, shop.ProfileList{ProfileFilter: filter, PageRequest: shop.PageRequest{Limit: 100}}))(t).Items {
		ids = append(ids, profile.Pet.ID)
	}
	return fmt.Sprint(ids)
}

// If a row must not change a profile, the whole import is refused, and the error names the line and the column.
func TestImportRefusesProfiles(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	rex := s.AddPet(t, "Rex", 1, shop.Available)
	must(s.UpdateProfile(t.Context(), shop.Caller{}, rex.ID, shop.ProfileChange{Price: &shop.Price{Amount: "250.00", Currency: "EUR"}}, nil))(t)
	row := func(change func(*shop.ImportRow)) shop.ImportRow {
		row := exportedProfile(t, s, 3, rex.ID, func(r *shop.ProfileRow) { r.Color = new("black") })
		change(&row)
		return row
	}
	last := must(s.LastEvent(t.Context()))(t)
	for _, c := range []struct {
		row  shop.ImportRow
		want string
	}{
		{row(func(r *shop.ImportRow) { r.ProfileETag = "" }), "profileEtag is required to change a profile; export the animals with their profiles to get it"},
		{row(func(r *shop.ImportRow) { r.ProfileETag = rex.ETag() }), "profileEtag is out of date, because the profile of animal 1 has changed since; export it again"},
		{row(func(r *shop.ImportRow) { r.ID, r.ETag = nil, "" }), "profileEtag is given without an id; remove it to create an animal"},
		{row(func(r *shop.ImportRow) { r.ETag = "" }), "etag is required to update an animal; export the animals to get it"},
		{row(func(r *shop.ImportRow) { r.Profile.Sex, r.Profile.BirthDate = new(shop.Sex("F")), new("31.5.2020") }),
			"sex must be one of female, male, birthDate must be a date such as 2026-05-31"},
		{row(func(r *shop.ImportRow) { r.Profile.ArrivalDate = new("9999-01-01") }), "arrivalDate must not be in the future"},
		{row(func(r *shop.ImportRow) { r.Profile.Amount = new("250.001") }), "price must have at most 2 digits after the point in EUR"},
		{row(func(r *shop.ImportRow) { r.Profile.Currency = new("JPY") }), "price must be a whole number in JPY"},
		{row(func(r *shop.ImportRow) { r.Profile.Currency = new("") }), "currency must be a currency code of ISO 4217, such as EUR"},
		{row(func(r *shop.ImportRow) {
			r.Profile = &shop.ProfileRow{ProfileChange: shop.ProfileChange{Price: &shop.Price{Amount: "x", Currency: "EUR"}}}
		}),
			`price.amount must be a decimal number of 0 or more as a string, such as "250.00"`},
		{row(func(r *shop.ImportRow) { r.ProfileOnly, r.ID, r.ETag, r.ProfileETag = true, nil, "", "" }), "name is required, categoryId or category is required"},
		{row(func(r *shop.ImportRow) { r.ProfileOnly, r.ID = true, new(int64(99)) }), "id must be the id of an existing animal, or empty to create one"},
		{shop.ImportRow{Line: 3, NewPet: shop.NewPet{Name: "Mia", CategoryID: 1}, Profile: cells(func(r *shop.ProfileRow) { r.Amount = new("0") })},
			"currency must be a currency code of ISO 4217, such as EUR"},
	} {
		for _, dryRun := range []bool{true, false} {
			rows := []shop.ImportRow{c.row, {Line: 9, NewPet: shop.NewPet{Name: "valid", CategoryID: 99}, Profile: cells(func(r *shop.ProfileRow) { r.Color = new("red") })}}
			_, err := s.ImportPets(t.Context(), shop.Caller{}, rows, shop.ImportOptions{Upsert: true, DryRun: dryRun})
			wantCode(t, err, shop.ValidationFailed)
			equal(t, "the message", shop.AsError(err).Message, "Nothing was imported because a row is not valid: line 3: "+c.want+".")
		}
	}
	if events := eventsAfter(t, s, last); len(events) > 0 {
		t.Errorf("the imports wrote %v", events)
	}
	twice := []shop.ImportRow{row(func(*shop.ImportRow) {}), row(func(*shop.ImportRow) {})}
	_, err := s.ImportPets(t.Context(), shop.Caller{}, twice, upsert)
	equal(t, "the message", shop.AsError(err).Message, "Nothing was imported because a row is not valid: line 3: id is the same as in line 3; keep one of the two rows.")
	// In the mode create, neither an id nor a tag counts.
	equal(t, "the import", must(s.ImportPets(t.Context(), shop.Caller{}, twice, shop.ImportOptions{}))(t), shop.ImportResult{Created: 2})
	equal(t, "the profile of a new animal", said(t, s, 2), `false,"color":"black"`)
	equal(t, "the old profile", said(t, s, 1), `false,"price":{"amount":"250.00","currency":"EUR"}`)
}

// A file that describes only profiles is not out of date if an animal was reserved since, and does not touch the
// animals. A file that also describes the animals is.
func TestReservationDoesNotMakeProfilesStale(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, _ []*shop.Service) {
		rex := s.AddPet(t, "Rex", 1, shop.Available)
		whole := exportedProfile(t, s, 2, rex.ID, func(r *shop.ProfileRow) { r.Color = new("black") })
		alone := whole
		alone.NewPet, alone.ETag, alone.ProfileOnly = shop.NewPet{}, "", true
		must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: rex.ID}))(t)
		_, err := s.ImportPets(t.Context(), shop.Caller{}, []shop.ImportRow{whole}, upsert)
		wantCode(t, err, shop.ValidationFailed)
		check(t, s.Store.Publish(t.Context()))
		last := must(s.LastEvent(t.Context()))(t)
		for _, want := range []shop.ImportResult{{Updated: 1}, {}} {
			equal(t, "the import", must(s.ImportPets(t.Context(), shop.Caller{}, []shop.ImportRow{alone}, upsert))(t), want)
			alone.ProfileETag = must(s.Profile(t.Context(), rex.ID))(t).MembersETag()
		}
		check(t, s.Store.Publish(t.Context()))
		equal(t, "the events", fmt.Sprint(eventsAfter(t, s, last)), "[profile.updated pets/1/profile]")
		profile := must(s.Profile(t.Context(), rex.ID))(t)
		equal(t, "the profile", profile.Color+" "+string(profile.Pet.Status), "black pending")
	})
}

// More profiles than an import has in memory are changed in one step and in the order of the file.
func TestImportChangesManyProfiles(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, _ []*shop.Service) {
		const animals = 100
		rows := make([]shop.ImportRow, animals)
		for i := range rows {
			rows[i] = shop.ImportRow{Line: i + 2, NewPet: shop.NewPet{Name: fmt.Sprint("Rex ", i), CategoryID: 1}}
			rows[i].Profile = cells(func(r *shop.ProfileRow) { r.Color = new(fmt.Sprint("color ", i)) })
		}
		equal(t, "the import", must(s.ImportPets(t.Context(), shop.Caller{}, rows, shop.ImportOptions{}))(t), shop.ImportResult{Created: animals})
		var changed []shop.ImportRow
		export := shop.ExportOptions{Profiles: true, Internal: true}
		check(t, s.ExportPets(t.Context(), shop.Caller{}, export, func(rows []shop.ExportRow) error {
			for _, row := range rows {
				if want := fmt.Sprint("color ", row.ID-1); row.Profile.Color != want || row.Profile.Pet != row.Pet {
					t.Errorf("animal %d has the profile %+v, want %s", row.ID, row.Profile, want)
				}
				change := exported(len(changed)+2, row.Pet)
				change.ProfileETag = row.ProfileETag
				change.Profile = cells(func(r *shop.ProfileRow) { r.Color = new(strings.ToUpper(row.Profile.Color)) })
				changed = append(changed, change)
			}
			return nil
		}))
		slices.Reverse(changed)
		stale := slices.Clone(changed)
		stale[90].ProfileETag = "x"
		check(t, s.Store.Publish(t.Context()))
		last := must(s.LastEvent(t.Context()))(t)
		_, err := s.ImportPets(t.Context(), shop.Caller{}, stale, upsert)
		wantCode(t, err, shop.ValidationFailed)
		equal(t, "the import", must(s.ImportPets(t.Context(), shop.Caller{}, changed, upsert))(t), shop.ImportResult{Updated: animals})
		check(t, s.Store.Publish(t.Context()))
		events := eventsAfter(t, s, last)
		equal(t, "the number of events", len(events), animals)
		for i, event := range events {
			equal(t, "an event", event, fmt.Sprintf("profile.updated pets/%d/profile", animals-i))
		}
		equal(t, "the last profile", said(t, s, animals), `false,"color":"COLOR 99"`)
	})
}
