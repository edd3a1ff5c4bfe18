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

// Imported is what became of an import.
type Imported struct {
	Created int `json:"created"`
}

const (
	// importPatience is how long an import may take: it is the work of thousands of requests.
	importPatience = time.Minute
	// namedRows is how many bad rows an import is told of.
	namedRows = 20
)

// ImportPets adds all animals of an import, or none; a dry run only checks them. It returns validation_failed, which names
// the first bad rows by their lines, or payload_too_large.
func (s *Service) ImportPets(ctx context.Context, rows []ImportRow, dryRun bool) (Imported, error) {
	if len(rows) > MaxImport {
		return Imported{}, Errorf(PayloadTooLarge, "The import has %d animals; send at most %d at once.", len(rows), MaxImport)
	}
	readable := true
	for i := range rows {
		if !rows[i].unreadable() {
			rows[i].Problems.Merge(rows[i].NewPet.Problems())
		}
		readable = readable && len(rows[i].Problems) == 0
	}
	ctx = WithPatience(ctx, importPatience)
	if !readable || dryRun && repeatOf(ctx) == nil {
		return read(ctx, s, func(tx ReadTx) (Imported, error) { return Imported{}, s.checkImport(tx, rows) })
	}
	pets := make([]NewPet, len(rows))
	for i, row := range rows {
		pets[i] = row.NewPet
	}
	return write(ctx, s, func(tx *ledger) (Imported, error) {
		if err := s.checkImport(tx, rows); err != nil || dryRun {
			return Imported{}, err
		}
		if _, err := tx.EnsureCategories(categoriesOf(rows)); err != nil {
			return Imported{}, err
		}
		_, err := tx.InsertPets(pets)
		return Imported{Created: len(pets)}, err
	})
}

// checkImport returns validation_failed where a row cannot become an animal.
func (s *Service) checkImport(tx ReadTx, rows []ImportRow) error {
	var known []int64
	if s.knownCategories {
		var err error
		if known, err = tx.KnownCategories(categoriesOf(rows)); err != nil {
			return err
		}
		slices.Sort(known)
	}
	bad, named := 0, []string{}
	for _, row := range rows {
		problems := slices.Clone(row.Problems) // a closure may run again
		if s.knownCategories && !row.unreadable() {
			if _, found := slices.BinarySearch(known, row.CategoryID); !found {
				problems.Add("categoryId", unknownCategory)
			}
		}
		if len(problems) == 0 {
			continue
		}
		if bad++; bad <= namedRows {
			named = append(named, fmt.Sprintf("line %d: %s", row.Line, problems))
		}
	}
	switch {
	case bad == 0:
		return nil
	case bad == 1:
		return Errorf(ValidationFailed, "Nothing was imported, because a row is not valid: %s.", named[0])
	case bad > namedRows:
		return Errorf(ValidationFailed, "Nothing was imported, because %d rows are not valid, of which these are the first %d: %s.", bad, namedRows, strings.Join(named, "; "))
	}
	return Errorf(ValidationFailed, "Nothing was imported, because %d rows are not valid: %s.", bad, strings.Join(named, "; "))
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
