package shop

import (
	"context"
	"time"
)

// ExportRow is one animal in an export, together with the name of its category.
type ExportRow struct {
	Pet
	Category    string   // "" if the animal's category has no name
	Profile     *Profile // nil unless the export contains profiles
	ProfileETag string   // the MembersETag of the profile, or "" for a key that may not change it
}

// ExportOptions says what an export contains beside the animals.
type ExportOptions struct {
	Profiles bool // whether it contains their profiles
	Internal bool // whether the profiles have their internal members and their entity tag
}

// AppendJSON appends the row to text as JSON. The JSON contains the animal, its entity tag, if there is one, the
// name of its category and, if the export contains profiles, their members.
func (r ExportRow) AppendJSON(text []byte) []byte {
	text = r.Pet.AppendJSON(text)
	text = appendQuoted(append(text[:len(text)-1], `,"etag":`...), r.ETag())
	text = appendText(text, `,"category":`, r.Category)
	if r.Profile != nil {
		text = r.Profile.appendReadOnly(r.Profile.appendMembers(append(text, ',')))
		text = appendText(text, `,"profileEtag":`, r.ProfileETag)
	}
	return append(text, '}')
}

// ExportPets passes all animals to emit in batches, oldest first, and stops when emit returns an error.
// Animals added during the export are left out. An animal that does not change during the export is passed
// exactly once. No transaction is open while emit runs.
func (s *Service) ExportPets(ctx context.Context, by Caller, options ExportOptions, emit func([]ExportRow) error) error {
	newest, err := read(ctx, s, Reading{By: by, SingleQuery: true, Budget: exportBudget}, func(tx ReadTx) ([]Pet, error) {
		return tx.Pets(PetList{PageRequest: PageRequest{Limit: 1}})
	})
	if err != nil || len(newest) == 0 {
		return err
	}
	last := newest[0].ID
	page := PageRequest{Limit: exportPage}
	if options.Profiles {
		page.Limit = profilesAtOnce
	}
	for {
		rows, err := readCurrent(ctx, s, Reading{By: by, Heavy: true, Budget: exportBudget}, func(tx ReadTx) ([]ExportRow, error) {
			return exportRows(tx, last, page, options)
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := emit(rows); err != nil {
			return err
		}
		if len(rows) < page.Limit {
			return nil
		}
		page.After = &rows[len(rows)-1].ID
	}
}

// exportRows reads one page of the animals whose ids are at most last, with the names of their categories and, if wanted,
// their profiles.
func exportRows(tx ReadTx, last int64, page PageRequest, options ExportOptions) ([]ExportRow, error) {
	pets, err := tx.PetsUpTo(last, page)
	if err != nil {
		return nil, err
	}
	rows, names := make([]ExportRow, len(pets)), map[int64]string{}
	var ids []int64
	for i, pet := range pets {
		rows[i].Pet = pet
		if _, known := names[pet.CategoryID]; !known {
			names[pet.CategoryID], ids = "", append(ids, pet.CategoryID)
		}
	}
	categories, err := tx.CategoriesByID(ids)
	for _, category := range categories {
		names[category.ID] = category.Name
	}
	for i := range rows {
		rows[i].Category = names[rows[i].CategoryID]
	}
	if err == nil && options.Profiles {
		err = addProfiles(tx, rows, options.Internal)
	}
	return rows, err
}

func addProfiles(tx ReadTx, rows []ExportRow, internal bool) error {
	byID, ids := map[int64]*ExportRow{}, make([]int64, len(rows))
	for i := range rows {
		byID[rows[i].ID], ids[i] = &rows[i], rows[i].ID
	}
	profiles, err := tx.ProfilesByID(ids)
	for _, profile := range profiles {
		row := byID[profile.Pet.ID]
		row.Profile = new(profile.ForKey(internal))
		if internal {
			row.ProfileETag = profile.MembersETag()
		}
	}
	return err
}

const (
	// exportPage is the maximum number of animals read in one transaction.
	exportPage = 1000
	// exportBudget is how long the read of one page may take, including waits and retries. It is longer than usual,
	// because the client cannot resume an export.
	exportBudget = 30 * time.Second
)
