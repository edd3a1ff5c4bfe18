package shop

import (
	"context"
	"maps"
	"slices"
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
	Invalid       int // if it is not 0, nothing can be imported
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
	// Problems contains the reasons why the row is invalid.
	Problems Problems
}

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
		preview := ImportPreview{ImportResult: plan.result(ignored), Unchanged: len(plan.unchanged), Invalid: plan.invalid}
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
		return preview, nil
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
