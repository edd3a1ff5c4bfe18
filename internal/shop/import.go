package shop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"animalstore/internal/admission"
)

const (
	// MaxImport is the maximum number of animals in one import. Decoders stop reading after one more row, which is
	// enough to refuse the import.
	MaxImport = 10_000
	// MaxImportRow is the maximum number of bytes in one row of an import. It is more than any valid row needs
	// and limits the memory for a row with very many columns or members.
	MaxImportRow = 192 << 10
	// MaxWaitingTexts is the number of texts that wait for the search index when imports are refused and other writes
	// index their own texts.
	MaxWaitingTexts = admission.MaxWaitingTexts
)

// ImportRow is one row of an import. It describes an animal as it should be after the import.
type ImportRow struct {
	Line int    // the line number in the uploaded file, starting at 1
	ID   *int64 // the animal to update, or nil to create one
	ETag string // the animal's entity tag when the file was exported, with or without quotes; "" if there is none
	NewPet
	Category    string      // the name of the category, or "" if the row has none
	ByName      bool        // whether the row has only the name of its category, so that CategoryID is not set
	ProfileOnly bool        // whether the row leaves the animal as it is, because it has none of the fields above except ID
	Profile     *ProfileRow // what the row says of the profile, or nil if it says nothing
	ProfileETag string      // the entity tag of the profile in the file, with or without quotes; "" if there is none
	Problems    Problems    // the reasons why the row is invalid; empty if it is valid

	categoryKey string // the CategoryKey of Category, set by prepareRows
}

// categoryName returns the name of the category without the spaces around it.
func (r ImportRow) categoryName() string { return strings.Trim(r.Category, " ") }

// unreadable reports whether the row as a whole could not be parsed. If so, the values of its other fields
// are meaningless.
func (r ImportRow) unreadable() bool { return r.Problems.has("") }

// ImportOptions says what an import does.
type ImportOptions struct {
	Upsert bool // whether rows that have an id update the animal with that id; otherwise ids are ignored
	DryRun bool // whether the import only checks the rows and counts what it would do
}

// ImportResult contains the number of animals that an import created and changed.
type ImportResult struct {
	Created int `json:"created"`
	Updated int `json:"updated"` // does not count animals that already match the file
	// IgnoredIDs is the number of rows whose id is ignored. Only a dry run reports it.
	IgnoredIDs int `json:"ignoredIds,omitzero"`
}

const (
	// importBudget is how long an import may be retried. It is longer than usual because an import does
	// the work of thousands of requests.
	importBudget = time.Minute
	// importRetry is how long a client should wait before it repeats an import that was refused because of the search
	// index.
	importRetry = 5 * time.Second
	// maxReportedRows is the maximum number of invalid rows listed in the error message.
	maxReportedRows = 20
)

// ImportPets creates and updates either all animals in an import or, if any row is invalid, none. A dry run only
// checks the rows. If rows are invalid, ImportPets fails with validation_failed and lists the first of them by
// line number. If there are too many rows, it fails with payload_too_large. If too many texts wait for the search index,
// it fails with unavailable.
func (s *Service) ImportPets(ctx context.Context, by Caller, rows []ImportRow, options ImportOptions) (ImportResult, error) {
	if len(rows) > MaxImport {
		return ImportResult{}, errImportTooLarge()
	}
	ignored, valid := prepareRows(rows, options.Upsert)
	if !valid || options.DryRun && by.Request == nil {
		plan, err := readCurrent(ctx, s, Reading{By: by, Heavy: true, Budget: importBudget}, func(tx ReadTx) (importPlan, error) {
			return s.planImport(tx, rows, maxReportedRows)
		})
		if err == nil {
			err = plan.err()
		}
		if err != nil {
			return ImportResult{}, err
		}
		return plan.result(ignored), nil
	}
	if options.Upsert {
		// Expire most of the due holds before the transaction of the import, which would otherwise expire them
		// one by one.
		if err := s.expireHolds(ctx, Bulk); err != nil {
			return ImportResult{}, err
		}
	}
	assigns := false        // whether an earlier attempt was about to assign ids to categories
	defer s.indexing.wake() // the next imports must not find that too many texts wait for the index only because it is idle
	return write(ctx, s, Writing{By: by, Priority: Bulk, Budget: importBudget}, func(tx *eventTx) (ImportResult, error) {
		if !options.DryRun {
			if err := admitImport(tx); err != nil {
				return ImportResult{}, err
			}
		}
		if assigns {
			if err := tx.LockCategoryIDs(); err != nil {
				return ImportResult{}, err
			}
		}
		if err := expireDueHolds(tx, idsOf(rows)); err != nil {
			return ImportResult{}, err
		}
		plan, err := s.planImport(tx, rows, maxReportedRows)
		if err == nil {
			err = plan.err()
		}
		if err != nil {
			return ImportResult{}, err
		}
		if options.DryRun {
			return plan.result(ignored), nil
		}
		assigns = plan.categories.assigns()
		return plan.result(0), plan.apply(tx)
	})
}

// admitImport fails with unavailable if too many texts wait for the search index. An import may add thousands of them,
// and every search has to compare all texts that wait.
func admitImport(tx BookkeepingTx) error {
	waiting, err := tx.BeginImport(MaxWaitingTexts)
	if err == nil && waiting >= MaxWaitingTexts {
		refusal := Errorf(Unavailable, "Nothing was imported, because %d names or more wait for the search index; try again in %d seconds.",
			MaxWaitingTexts, int(importRetry.Seconds()))
		refusal.RetryAfter = importRetry
		return refusal
	}
	return err
}

func errImportTooLarge() error {
	return Errorf(PayloadTooLarge, "The import has more than %[1]d animals; send at most %[1]d at once.", MaxImport)
}

// prepareRows validates the animals and adds their problems to those found while parsing. Unless the import is an
// upsert, it removes the ids and counts the rows that had one. It reports whether every row is valid.
func prepareRows(rows []ImportRow, upsert bool) (ignored int, valid bool) {
	valid = true
	now := time.Now()
	for i := range rows {
		row := &rows[i]
		if !upsert {
			if row.ID != nil || row.Problems.has("id") {
				ignored++
			}
			row.ID, row.ETag, row.ProfileETag = nil, "", ""
			row.Problems.remove("id", "etag", "profileEtag")
		}
		if row.Profile != nil && !row.unreadable() {
			row.Problems.Merge(row.Profile.problems(now, row.ID != nil))
			if row.ID == nil && row.Profile.Apply(Profile{}).sameMembers(Profile{}) {
				row.Profile = nil // there is nothing to write
			}
		}
		if row.ProfileOnly && row.ID == nil {
			row.ProfileOnly = false
			row.Problems.Add("name", "is required")
			row.Problems.Add("categoryId", "or category is required")
		}
		if !row.unreadable() && !row.ProfileOnly {
			row.Status = Status(strings.ToLower(string(row.Status)))
			row.Problems.Merge(row.NewPet.Problems())
			if row.Category != "" {
				if reason := TextProblem(row.Category); reason != "" {
					row.Problems.Add("category", reason)
				}
				row.categoryKey = CategoryKey(row.Category) // computed outside the transaction, to keep that short
			}
		}
		valid = valid && len(row.Problems) == 0
	}
	return ignored, valid
}

// idsOf returns the ids of the animals that the rows update.
func idsOf(rows []ImportRow) (ids []int64) {
	for _, row := range rows {
		if row.ID != nil {
			ids = append(ids, *row.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// err returns an error with the code validation_failed, which lists the first invalid rows, or nil if all rows
// are valid.
func (p importPlan) err() error {
	if len(p.invalid) == 0 {
		return nil
	}
	reported := []string{}
	for _, row := range p.reported {
		reported = append(reported, fmt.Sprintf("line %d: %s", row.Line, row.Problems))
	}
	switch invalid := len(p.invalid); {
	case invalid == 1:
		return Errorf(ValidationFailed, "Nothing was imported because a row is not valid: %s.", reported[0])
	case invalid > len(reported):
		return Errorf(ValidationFailed, "Nothing was imported because %d rows are not valid; the first %d are: %s.", invalid, len(reported), strings.Join(reported, "; "))
	}
	return Errorf(ValidationFailed, "Nothing was imported because %d rows are not valid: %s.", len(p.invalid), strings.Join(reported, "; "))
}
