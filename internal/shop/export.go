package shop

import (
	"context"
	"time"
)

// ExportPets passes all animals to emit in batches, oldest first, and stops when emit returns an error.
// Animals added during the export are left out. An animal that does not change during the export is passed
// exactly once. No transaction is open while emit runs.
func (s *Service) ExportPets(ctx context.Context, emit func([]Pet) error) error {
	ctx = WithRetryBudget(ctx, exportBudget)
	newest, err := s.ListPets(ctx, PetList{PageRequest: PageRequest{Limit: 1}})
	if err != nil || len(newest.Items) == 0 {
		return err
	}
	last := newest.Items[0].ID
	page := PageRequest{Limit: exportPage}
	for {
		pets, err := heavyRead(ctx, s, func() ([]Pet, error) {
			return readCurrent(ctx, s, func(tx ReadTx) ([]Pet, error) { return tx.PetsUpTo(last, page) })
		})
		if err != nil || len(pets) == 0 {
			return err
		}
		if err := emit(pets); err != nil {
			return err
		}
		if len(pets) < page.Limit {
			return nil
		}
		page.After = &pets[len(pets)-1].ID
	}
}

const (
	// exportPage is the maximum number of animals read in one transaction.
	exportPage = 1000
	// exportBudget is how long one of these reads may wait and be retried. It is longer than usual because the
	// client cannot resume an export.
	exportBudget = 30 * time.Second
)
