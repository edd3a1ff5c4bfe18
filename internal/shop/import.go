package shop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxImport is how many animals one import can bring.
const MaxImport = 10_000

// ImportRow is one animal of an import.
type ImportRow struct {
	Line int // where it stands in what was sent, counted from 1
	NewPet
	Problems Problems // why it could not be read
}

// unreadable tells whether nothing is known of the animal.
func (r ImportRow) unreadable() bool {
	return slices.ContainsFunc(r.Problems, func(p problem) bool { return p.member == "" })
}

// ImportResult is what became of an import.
type ImportResult struct {
	Created int `json:"created"`
}

const (
	// importBudget is how long an import may take: it is the work of thousands of requests.
	importBudget = time.Minute
	// maxReportedRows is how many bad rows an import is told of.
	maxReportedRows = 20
)

// ImportPets adds all animals of an import, or none; a dry run only checks them. It returns validation_failed, which names
// the first bad rows by their lines, or payload_too_large.
func (s *Service) ImportPets(ctx context.Context, rows []ImportRow, dryRun bool) (ImportResult, error) {
	if len(rows) > MaxImport {
		return ImportResult{}, errImportTooLarge(rows)
	}
	readable := mergeProblems(rows)
	ctx = WithRetryBudget(ctx, importBudget)
	if !readable || dryRun && idempotentRequestOf(ctx) == nil {
		return read(ctx, s, func(tx ReadTx) (ImportResult, error) { return ImportResult{}, s.checkImport(tx, rows) })
	}
	pets := make([]NewPet, len(rows))
	for i, row := range rows {
		pets[i] = row.NewPet
	}
	return write(ctx, s, func(tx *eventTx) (ImportResult, error) {
		if err := s.checkImport(tx, rows); err != nil || dryRun {
			return ImportResult{}, err
		}
		if _, err := tx.EnsureCategories(categoriesOf(rows)); err != nil {
			return ImportResult{}, err
		}
		_, err := tx.InsertPets(pets)
		return ImportResult{Created: len(pets)}, err
	})
}

// CheckImport returns the rows of an import that cannot become animals, each with all that is wrong with it. Nothing is
// written. It returns payload_too_large.
func (s *Service) CheckImport(ctx context.Context, rows []ImportRow) ([]ImportRow, error) {
	if len(rows) > MaxImport {
		return nil, errImportTooLarge(rows)
	}
	mergeProblems(rows)
	return read(WithRetryBudget(ctx, importBudget), s, func(tx ReadTx) ([]ImportRow, error) { return s.invalidRows(tx, rows) })
}

func errImportTooLarge(rows []ImportRow) error {
	return Errorf(PayloadTooLarge, "The import has %d animals; send at most %d at once.", len(rows), MaxImport)
}

// mergeProblems adds what is wrong with the animals to what was wrong with reading them, and tells whether nothing is.
func mergeProblems(rows []ImportRow) (readable bool) {
	readable = true
	for i := range rows {
		if !rows[i].unreadable() {
			rows[i].Problems.Merge(rows[i].NewPet.Problems())
		}
		readable = readable && len(rows[i].Problems) == 0
	}
	return readable
}

// invalidRows returns the rows that cannot become animals, with all that is wrong with each.
func (s *Service) invalidRows(tx ReadTx, rows []ImportRow) (bad []ImportRow, err error) {
	var known []int64
	if s.knownCategories {
		if known, err = tx.ExistingCategories(categoriesOf(rows)); err != nil {
			return nil, err
		}
		slices.Sort(known)
	}
	for _, row := range rows {
		row.Problems = slices.Clone(row.Problems) // a closure may run again
		if s.knownCategories && !row.unreadable() {
			if _, found := slices.BinarySearch(known, row.CategoryID); !found {
				row.Problems.Add("categoryId", unknownCategory)
			}
		}
		if len(row.Problems) > 0 {
			bad = append(bad, row)
		}
	}
	return bad, nil
}

// checkImport returns validation_failed where a row cannot become an animal.
func (s *Service) checkImport(tx ReadTx, rows []ImportRow) error {
	bad, err := s.invalidRows(tx, rows)
	if err != nil || len(bad) == 0 {
		return err
	}
	named := []string{}
	for _, row := range bad[:min(len(bad), maxReportedRows)] {
		named = append(named, fmt.Sprintf("line %d: %s", row.Line, row.Problems))
	}
	switch {
	case len(bad) == 1:
		return Errorf(ValidationFailed, "Nothing was imported, because a row is not valid: %s.", named[0])
	case len(bad) > maxReportedRows:
		return Errorf(ValidationFailed, "Nothing was imported, because %d rows are not valid, of which these are the first %d: %s.", len(bad), maxReportedRows, strings.Join(named, "; "))
	}
	return Errorf(ValidationFailed, "Nothing was imported, because %d rows are not valid: %s.", len(bad), strings.Join(named, "; "))
}

// categoriesOf returns the categories of all animals, each once, in ascending order: whoever takes several takes them in
// the same order, so that no two wait for each other.
func categoriesOf(rows []ImportRow) []int64 {
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.CategoryID
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
