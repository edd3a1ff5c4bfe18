package shop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// MaxImport is the maximum number of animals in one import. Decoders stop after one row more, which is
	// enough to refuse the import.
	MaxImport = 10_000
	// MaxImportRow is the maximum number of bytes in one row of an import. It is more than any valid row needs
	// and limits the memory for a row with very many columns or members.
	MaxImportRow = 64 << 10
)

// ImportRow is one row of an import. Each row describes one animal.
type ImportRow struct {
	Line int // the line number in the uploaded file, starting at 1
	NewPet
	Problems Problems // the reasons why the row is invalid; empty if it is valid
}

// unreadable reports whether the row as a whole could not be parsed. If so, the values of its other fields
// are meaningless.
func (r ImportRow) unreadable() bool {
	return slices.ContainsFunc(r.Problems, func(p problem) bool { return p.member == "" })
}

// ImportResult contains the number of animals created by an import.
type ImportResult struct {
	Created int `json:"created"`
}

const (
	// importBudget is how long an import may be retried. It is longer than usual because an import does
	// the work of thousands of requests.
	importBudget = time.Minute
	// maxReportedRows is the maximum number of invalid rows listed in the error message.
	maxReportedRows = 20
)

// ImportPets adds either all animals in an import or, if any row is invalid, none. A dry run only checks the
// rows. If rows are invalid, ImportPets fails with validation_failed and lists the first of them by line
// number. If there are too many rows, it fails with payload_too_large.
func (s *Service) ImportPets(ctx context.Context, rows []ImportRow, dryRun bool) (ImportResult, error) {
	if len(rows) > MaxImport {
		return ImportResult{}, errImportTooLarge()
	}
	valid := mergeProblems(rows)
	ctx = WithRetryBudget(ctx, importBudget)
	if !valid || dryRun && idempotentRequestOf(ctx) == nil {
		return heavyRead(ctx, s, func() (ImportResult, error) {
			return read(ctx, s, func(tx ReadTx) (ImportResult, error) { return ImportResult{}, s.checkImport(tx, rows) })
		})
	}
	pets := make([]NewPet, len(rows))
	for i, row := range rows {
		pets[i] = row.NewPet
	}
	return write(ctx, s, func(tx *eventTx) (ImportResult, error) {
		if err := s.checkImport(tx, rows); err != nil || dryRun {
			return ImportResult{}, err
		}
		if _, err := tx.EnsureCategories(categoriesOf(rows)...); err != nil {
			return ImportResult{}, err
		}
		_, err := tx.InsertPets(pets...)
		return ImportResult{Created: len(pets)}, err
	})
}

// CheckImport returns the invalid rows of an import, each with all of its problems. It writes nothing. It
// fails with payload_too_large if there are too many rows.
func (s *Service) CheckImport(ctx context.Context, rows []ImportRow) ([]ImportRow, error) {
	if len(rows) > MaxImport {
		return nil, errImportTooLarge()
	}
	mergeProblems(rows)
	ctx = WithRetryBudget(ctx, importBudget)
	return heavyRead(ctx, s, func() ([]ImportRow, error) {
		return read(ctx, s, func(tx ReadTx) ([]ImportRow, error) { return s.invalidRows(tx, rows) })
	})
}

func errImportTooLarge() error {
	return Errorf(PayloadTooLarge, "The import has more than %[1]d animals; send at most %[1]d at once.", MaxImport)
}

// mergeProblems validates the animals and adds their problems to those found while parsing. It reports
// whether every row is valid.
func mergeProblems(rows []ImportRow) (valid bool) {
	valid = true
	for i := range rows {
		if !rows[i].unreadable() {
			rows[i].Problems.Merge(rows[i].NewPet.Problems())
		}
		valid = valid && len(rows[i].Problems) == 0
	}
	return valid
}

// invalidRows returns the rows that have problems. In addition to the problems that are already known, it
// checks the categories if Options.KnownCategories is set.
func (s *Service) invalidRows(tx ReadTx, rows []ImportRow) (invalid []ImportRow, err error) {
	var known []int64
	if s.knownCategories {
		categories, err := tx.CategoriesByID(categoriesOf(rows))
		if err != nil {
			return nil, err
		}
		for _, category := range categories {
			known = append(known, category.ID)
		}
		slices.Sort(known)
	}
	for _, row := range rows {
		row.Problems = slices.Clone(row.Problems) // cloned because the transaction may run again with the same rows
		if s.knownCategories && !row.unreadable() {
			if _, found := slices.BinarySearch(known, row.CategoryID); !found {
				row.Problems.Add("categoryId", unknownCategory)
			}
		}
		if len(row.Problems) > 0 {
			invalid = append(invalid, row)
		}
	}
	return invalid, nil
}

// checkImport fails with validation_failed if any row is invalid.
func (s *Service) checkImport(tx ReadTx, rows []ImportRow) error {
	invalid, err := s.invalidRows(tx, rows)
	if err != nil || len(invalid) == 0 {
		return err
	}
	reported := []string{}
	for _, row := range invalid[:min(len(invalid), maxReportedRows)] {
		reported = append(reported, fmt.Sprintf("line %d: %s", row.Line, row.Problems))
	}
	switch {
	case len(invalid) == 1:
		return Errorf(ValidationFailed, "Nothing was imported because a row is not valid: %s.", reported[0])
	case len(invalid) > maxReportedRows:
		return Errorf(ValidationFailed, "Nothing was imported because %d rows are not valid; the first %d are: %s.", len(invalid), maxReportedRows, strings.Join(reported, "; "))
	}
	return Errorf(ValidationFailed, "Nothing was imported because %d rows are not valid: %s.", len(invalid), strings.Join(reported, "; "))
}

// categoriesOf returns the distinct category ids of the rows in ascending order. Because all imports lock
// categories in this order, they cannot deadlock.
func categoriesOf(rows []ImportRow) []int64 {
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.CategoryID
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
