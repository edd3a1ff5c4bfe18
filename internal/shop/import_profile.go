package shop

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// profilesAtOnce is the maximum number of profiles that an import or an export has in memory. A profile may need 52 KB.
const profilesAtOnce = 40

// ProfileRow is what a row of an import says of a profile.
type ProfileRow struct {
	ProfileChange
	Columns bool // whether the row comes from a table, in which the following fields have columns of their own
	// Breed, SecondBreed, Amount and Currency change parts of Breeds and Price. Those that are nil change nothing, and an
	// empty text removes the part. A price without an amount is removed.
	Breed, SecondBreed, Amount, Currency *string
}

// Apply returns a copy of the profile with the changes of the row. A change that only a spreadsheet program makes, because
// it drops zeros and spaces, is none.
func (r ProfileRow) Apply(before Profile) Profile {
	p := r.ProfileChange.apply(before)
	if !r.Columns {
		return p
	}
	var breeds [maxBreeds]string
	copy(breeds[:], p.Breeds)
	replace(&breeds[0], r.Breed)
	replace(&breeds[1], r.SecondBreed)
	p.Breeds = slices.DeleteFunc(breeds[:], func(breed string) bool { return breed == "" })
	replace(&p.Price.Amount, r.Amount)
	replace(&p.Price.Currency, r.Currency)
	switch {
	case p.Price.Amount == "":
		p.Price = Price{}
	case p.Price.sameAs(before.Price):
		p.Price = before.Price
	}
	if p.Microchip != "" && p.Microchip == strings.TrimLeft(before.Microchip, "0") {
		p.Microchip = before.Microchip
	}
	if slices.EqualFunc(p.Tags, before.Tags, func(a, b string) bool { return strings.Trim(a, " ") == strings.Trim(b, " ") }) {
		p.Tags = before.Tags
	}
	return p
}

// IsEmpty reports whether the row says nothing of the profile.
func (r ProfileRow) IsEmpty() bool { return reflect.ValueOf(r).IsZero() }

// problems validates what the row says. If the row updates a profile and has only a part of the price, the price is not
// validated, because the other part is in the profile.
func (r ProfileRow) problems(now time.Time, updates bool) Problems {
	p := r.Apply(Profile{})
	if updates && r.Columns && r.Currency == nil {
		p.Price = Price{}
	}
	return r.named(p.Problems(now))
}

// named returns the problems with the names that the members have in the file.
func (r ProfileRow) named(problems Problems) Problems {
	if r.Columns {
		for i, problem := range problems {
			switch problem.member {
			case "price.amount":
				problems[i].member = "price"
			case "price.currency":
				problems[i].member = "currency"
			}
		}
	}
	return problems
}

// importProfiles contains the result of checkProfiles for each animal whose profile a row may update.
type importProfiles map[int64]profileCheck

type profileCheck struct {
	changes  bool     // whether the row changes the profile
	problems Problems // the reasons why the row must not change it
}

// checkProfiles compares the rows with the profiles in the store. It keeps only the results, because all profiles of an
// import together may be too large.
func checkProfiles(tx ReadTx, rows []ImportRow) (importProfiles, error) {
	checks, byID := importProfiles{}, map[int64]*ImportRow{}
	var ids []int64
	for i := range rows {
		if row := &rows[i]; row.ID != nil && row.Profile != nil && !row.unreadable() && byID[*row.ID] == nil {
			byID[*row.ID], ids = row, append(ids, *row.ID)
		}
	}
	for some := range slices.Chunk(ids, profilesAtOnce) {
		profiles, err := tx.ProfilesByID(some)
		if err != nil {
			return nil, err
		}
		for _, before := range profiles {
			checks[before.Pet.ID] = byID[before.Pet.ID].checkProfile(before)
		}
	}
	return checks, nil
}

func (r *ImportRow) checkProfile(before Profile) (check profileCheck) {
	after := r.Profile.Apply(before)
	check.changes = !after.sameMembers(before)
	switch {
	case r.ProfileETag == "":
		check.problems.Add("profileEtag", "is required to change a profile; export the animals with their profiles to get it")
	case strings.Trim(r.ProfileETag, `"`) != strings.Trim(before.MembersETag(), `"`):
		check.problems.Add("profileEtag", fmt.Sprintf(outOfDate+", because the profile of animal %d has changed since; export it again", before.Pet.ID))
	case after.Price != before.Price && after.Price != (Price{}):
		check.problems = r.Profile.named(after.Price.Problems())
	}
	return check
}

// applyProfiles changes the profiles of the animals that the plan updates, and writes those of the animals that it has
// created, which are given in the order of the plan.
func (p importPlan) applyProfiles(tx *eventTx, created []Pet) error {
	rows := map[int64]*ProfileRow{}
	var ids []int64
	add := func(id int64, row *ProfileRow) {
		if row != nil {
			rows[id], ids = row, append(ids, id)
		}
	}
	for _, planned := range p.updates {
		add(planned.before.ID, planned.profile)
	}
	for i, planned := range p.creates {
		add(created[i].ID, planned.profile)
	}
	if len(ids) == 0 {
		return nil
	}
	now, err := tx.Now()
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ids, profilesAtOnce) {
		profiles, err := tx.ProfilesByID(some)
		if err != nil {
			return err
		}
		slices.SortFunc(profiles, func(a, b Profile) int { return slices.Index(some, a.Pet.ID) - slices.Index(some, b.Pet.ID) })
		updates := make([]ProfileUpdate, len(profiles))
		for i, before := range profiles {
			updates[i] = ProfileUpdate{before, rows[before.Pet.ID].Apply(before).writtenAt(now)}
		}
		if err := tx.UpdateProfiles(updates...); err != nil {
			return err
		}
	}
	return nil
}
