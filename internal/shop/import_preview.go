package shop

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// ImportAction is what an import does with a row.
type ImportAction string

// The actions of an import.
const (
	ImportCreate  ImportAction = "create"
	ImportUpdate  ImportAction = "update"
	ImportKeep    ImportAction = "keep"    // the animal already is as the row describes it
	ImportProblem ImportAction = "problem" // the row is invalid, and nothing can be imported
)

// ImportPreview says what an import would do.
type ImportPreview struct {
	ImportResult
	Unchanged     int
	InvalidRows   []int // the indices of the invalid rows; unless they are left out, nothing can be imported
	Problems      []PreviewRow
	Updates       []PreviewRow
	Creates       []PreviewRow
	Keeps         []PreviewRow
	NewCategories []Category // the categories that the import would create; those without an id would be assigned one
}

// PreviewRow is one row of a preview.
type PreviewRow struct {
	Action ImportAction
	Line   int
	After  PreviewPet  // the animal as the row describes it
	Before *PreviewPet // the animal as it is now, or nil if the row updates none
	// ProfileAfter is the profile as the row describes it, and ProfileBefore as it is now. ProfileAfter is nil if the
	// profile does not change, and ProfileBefore is nil if the row creates the animal. Invalid rows have neither.
	ProfileBefore, ProfileAfter *Profile
	// Problems contains the reasons why the row is invalid.
	Problems Problems
}

// IsOutdated reports whether somebody has changed the animal or its profile since the file was exported.
func (r PreviewRow) IsOutdated() bool {
	for member, reason := range r.Problems.All() {
		if strings.HasSuffix(strings.ToLower(member), "etag") && strings.HasPrefix(reason, outOfDate) {
			return true
		}
	}
	return false
}

// outOfDate begins the problem of a row whose animal or profile has changed since the file was exported.
const outOfDate = "is out of date"

// PreviewPet is an animal in a preview. Category has no id if the import would assign one.
type PreviewPet struct {
	Pet
	Category Category
}

// PreviewImport returns what an import would do with each row, and writes nothing. For each action, it lists the
// first rows in the order of the file, at most the given number. It also lists at most this number of new
// categories. The counts include the rows that are not listed. It fails with payload_too_large if there are too
// many rows.
func (s *Service) PreviewImport(ctx context.Context, by Caller, rows []ImportRow, upsert bool, most int) (ImportPreview, error) {
	if len(rows) > MaxImport {
		return ImportPreview{}, errImportTooLarge()
	}
	ignored, _ := prepareRows(rows, upsert)
	return readCurrent(ctx, s, Reading{By: by, Heavy: true, Budget: importBudget}, func(tx ReadTx) (ImportPreview, error) {
		plan, err := s.planImport(tx, rows, most)
		if err != nil {
			return ImportPreview{}, err
		}
		preview := ImportPreview{ImportResult: plan.result(ignored), Unchanged: len(plan.unchanged), InvalidRows: plan.invalid}
		names, err := plan.categoryNames(tx)
		if err != nil {
			return ImportPreview{}, err
		}
		preview.NewCategories = names.created(plan, most)
		preview.Updates = names.rows(ImportUpdate, plan.updates, most)
		preview.Creates = names.rows(ImportCreate, plan.creates, most)
		preview.Keeps = names.rows(ImportKeep, plan.unchanged, most)
		for _, row := range plan.reported {
			preview.Problems = append(preview.Problems, names.invalidRow(row, plan.stored))
		}
		return preview, preview.readProfiles(tx, plan.updates)
	})
}

// existingCategories contains the categories that exist, by id.
type existingCategories map[int64]Category

// categoryNames reads the categories that occur in the plan.
func (p importPlan) categoryNames(tx ReadTx) (existingCategories, error) {
	ids := map[int64]bool{}
	for _, planned := range [][]plannedPet{p.creates, p.updates, p.unchanged} {
		for _, pet := range planned {
			if !pet.category.assign {
				ids[pet.category.ID] = true
			}
			if pet.before.ID != 0 {
				ids[pet.before.CategoryID] = true
			}
		}
	}
	for _, row := range p.reported {
		ids[row.CategoryID] = true
	}
	for _, pet := range p.stored.pets {
		ids[pet.CategoryID] = true
	}
	return categoriesByID(tx, slices.Sorted(maps.Keys(ids)))
}

// created returns the first categories that the plan would create.
func (c existingCategories) created(p importPlan, most int) (created []Category) {
	seen := map[*importCategory]bool{}
	for _, planned := range [][]plannedPet{p.updates, p.creates} {
		for _, pet := range planned {
			_, exists := c[pet.category.ID]
			if (pet.category.assign || !exists) && !seen[pet.category] && len(created) < most {
				seen[pet.category] = true
				created = append(created, pet.category.Category)
			}
		}
	}
	return created
}

func (c existingCategories) rows(action ImportAction, planned []plannedPet, most int) (rows []PreviewRow) {
	for _, pet := range planned[:min(len(planned), most)] {
		row := PreviewRow{Action: action, Line: pet.line, After: PreviewPet{pet.after(), pet.category.Category}}
		if row.After.Category.Name == "" {
			row.After.Category.Name = c[pet.category.ID].Name
		}
		if pet.before.ID != 0 {
			row.Before = c.pet(pet.before)
		} else if pet.profile != nil {
			row.ProfileAfter = new(pet.profile.Apply(Profile{}))
		}
		rows = append(rows, row)
	}
	return rows
}

func (c existingCategories) invalidRow(row ImportRow, stored petsInStore) PreviewRow {
	invalid := PreviewRow{Action: ImportProblem, Line: row.Line, Problems: row.Problems, After: PreviewPet{row.WithID(0), Category{Name: row.Category}}}
	if row.ID != nil {
		invalid.After.ID = *row.ID
		if pet, found := stored.pets[*row.ID]; found {
			invalid.Before = c.pet(pet)
		}
	}
	return invalid
}

func (c existingCategories) pet(pet Pet) *PreviewPet { return &PreviewPet{pet, c[pet.CategoryID]} }

// readProfiles sets the profiles of the listed updates that change one.
func (p *ImportPreview) readProfiles(tx ReadTx, updates []plannedPet) error {
	rows := map[int64]int{}
	var ids []int64
	for i, planned := range updates[:len(p.Updates)] {
		if planned.profile != nil {
			rows[planned.before.ID], ids = i, append(ids, planned.before.ID)
		}
	}
	for some := range slices.Chunk(ids, profilesAtOnce) {
		profiles, err := tx.ProfilesByID(some)
		if err != nil {
			return err
		}
		for _, before := range profiles {
			i := rows[before.Pet.ID]
			p.Updates[i].ProfileBefore, p.Updates[i].ProfileAfter = &before, new(updates[i].profile.Apply(before))
		}
	}
	return nil
}
