package shop

import (
	"context"
	"time"
)

// ExportRow is one animal in an export, together with the name of its category.
type ExportRow struct {
	Pet
	Category string // "" if the animal's category has no name
}

// AppendJSON appends the row to text as JSON. The JSON contains the animal, its entity tag and, if there is one, the
// name of its category.
func (r ExportRow) AppendJSON(text []byte) []byte {
	text = r.Pet.AppendJSON(text)
	text = appendQuoted(append(text[:len(text)-1], `,"etag":`...), r.ETag())
	if r.Category != "" {
		text = appendQuoted(append(text, `,"category":`...), r.Category)
	}
	return append(text, '}')
}

// ExportPets passes all animals to emit in batches, oldest first, and stops when emit returns an error.
// Animals added during the export are left out. An animal that does not change during the export is passed
// exactly once. No transaction is open while emit runs.
func (s *Service) ExportPets(ctx context.Context, by Caller, emit func([]ExportRow) error) error {
	newest, err := read(ctx, s, Reading{By: by, SingleQuery: true, Budget: exportBudget}, func(tx ReadTx) ([]Pet, error) {
		return tx.Pets(PetList{PageRequest: PageRequest{Limit: 1}})
	})
	if err != nil || len(newest) == 0 {
		return err
	}
	last := newest[0].ID
	page := PageRequest{Limit: exportPage}
	for {
		rows, err := readCurrent(ctx, s, Reading{By: by, Heavy: true, Budget: exportBudget}, func(tx ReadTx) ([]ExportRow, error) {
			return exportRows(tx, last, page)
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

// exportRows reads one page of the animals whose ids are at most last, and the names of their categories.
func exportRows(tx ReadTx, last int64, page PageRequest) ([]ExportRow, error) {
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
	return rows, err
}

const (
	// exportPage is the maximum number of animals read in one transaction.
	exportPage = 1000
	// exportBudget is how long the read of one page may take, including waits and retries. It is longer than usual,
	// because the client cannot resume an export.
	exportBudget = 30 * time.Second
)
