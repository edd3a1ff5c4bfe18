package shop

import (
	"context"
	"errors"
)

// ErrRecounting means that the number of animals in a category is not known at the moment, because events were
// removed before their changes were added to the counts. FoldCounts then counts all animals again.
var ErrRecounting = errors.New("the animals in each category are being counted again")

// CategoryCount is the number of animals in one category, by status.
type CategoryCount struct {
	CategoryID int64
	Inventory
}

// LargestCategories contains the categories with the most animals.
type LargestCategories struct {
	Counts []CategoryCount // sorted by descending number of animals
	Others int64           // the number of animals in all other categories
	// Recounting means that the numbers are not known yet, because all animals are being counted again.
	Recounting bool
}

// largestCategories is the number of categories that LargestCategories returns.
const largestCategories = 12

// LargestCategories counts the animals in the categories that have the most animals.
func (s *Service) LargestCategories(ctx context.Context) (LargestCategories, error) {
	return read(ctx, s, Reading{Heavy: true}, func(tx ReadTx) (LargestCategories, error) {
		counts, err := tx.LargestCategories(largestCategories)
		if errors.Is(err, ErrRecounting) {
			return LargestCategories{Recounting: true}, nil
		}
		if err != nil {
			return LargestCategories{}, err
		}
		all, err := tx.Inventory()
		others := all.Total()
		for _, count := range counts {
			others -= count.Total()
		}
		return LargestCategories{Counts: counts, Others: others}, err
	})
}

// CountCategories counts the animals in the given categories. It leaves out categories without animals. It returns
// nil while all animals are being counted again.
func (s *Service) CountCategories(ctx context.Context, by Caller, ids []int64) (map[int64]Inventory, error) {
	return read(ctx, s, Reading{By: by, Heavy: true}, func(tx ReadTx) (map[int64]Inventory, error) {
		counts, err := tx.CountCategories(ids)
		if errors.Is(err, ErrRecounting) {
			return nil, nil
		}
		byID := map[int64]Inventory{}
		for _, count := range counts {
			byID[count.CategoryID] = count.Inventory
		}
		return byID, err
	})
}

// CountChanges says how the events with positions after From, up to and including To, change the number of animals in
// each category.
type CountChanges struct {
	From, To int64
	Changes  []CategoryCount // sorted by category
	Lost     bool            // events after From were removed, so their changes are not known
}

const (
	// countBatch is the maximum number of events whose changes are added to the counts at once.
	countBatch = 4096
	// countBacklog is how many new events there must be before FoldCounts adds them to the counts. A PostgreSQL
	// server keeps the old version of an updated row for a while, so fewer and larger updates leave fewer old
	// versions.
	countBacklog = 2048
)

// FoldCounts adds the changes of new events to the stored counts of all categories if there are at least countBacklog
// events. Until then, every read of the counts adds up these changes itself. Writes do not update the counts, because
// that would slow down every create.
func (s *Service) FoldCounts(ctx context.Context) error { return s.foldCounts(ctx, countBacklog) }

// FoldAllCounts is like FoldCounts, but for any number of events. Nodes of version 1.0 remove old events without
// adding them to the counts, so every event must be added soon.
func (s *Service) FoldAllCounts(ctx context.Context) error { return s.foldCounts(ctx, 1) }

// foldCounts adds the changes of new events to the counts if there are at least atLeast events. It reads the events
// in a separate transaction, so that other writes do not have to wait while it is reading.
func (s *Service) foldCounts(ctx context.Context, atLeast int64) error {
	for {
		changes, err := read(ctx, s, Reading{}, func(tx ReadTx) (CountChanges, error) { return tx.CountChanges(atLeast, countBatch) })
		if err != nil || changes.From == changes.To && !changes.Lost {
			return err
		}
		err = s.bookkeep(ctx, func(tx BookkeepingTx) error {
			if changes.Lost {
				return tx.RecountPets()
			}
			return tx.FoldCounts(changes)
		})
		if err != nil {
			return err
		}
	}
}
