package shop

import "context"

// Inventory is the number of animals with each status. Unspecified is the number of animals whose status was
// never set.
type Inventory struct {
	Available   int64 `json:"available"`
	Pending     int64 `json:"pending"`
	Sold        int64 `json:"sold"`
	Unspecified int64 `json:"unspecified"`
}

// Inventory returns the number of animals with each status.
func (s *Service) Inventory(ctx context.Context) (Inventory, error) {
	return readCurrent(ctx, s, Reading{SingleQuery: true}, func(tx ReadTx) (Inventory, error) { return tx.Inventory() })
}

// Total returns the number of animals with any status.
func (i Inventory) Total() int64 { return i.Available + i.Pending + i.Sold + i.Unspecified }

// Plus returns the sum of two inventories.
func (i Inventory) Plus(other Inventory) Inventory {
	return Inventory{i.Available + other.Available, i.Pending + other.Pending, i.Sold + other.Sold, i.Unspecified + other.Unspecified}
}

// Add adds n animals with a status.
func (i *Inventory) Add(status Status, n int64) {
	switch status {
	case Available:
		i.Available += n
	case Pending:
		i.Pending += n
	case Sold:
		i.Sold += n
	default:
		i.Unspecified += n
	}
}

// CategoryCount is the number of animals in one category, by status.
type CategoryCount struct {
	CategoryID int64
	Inventory
}

// LargestCategories contains the categories with the most animals.
type LargestCategories struct {
	Counts []CategoryCount // sorted by descending number of animals
	Others int64           // the number of animals in all other categories
}

// largestCategories is the number of categories that LargestCategories returns.
const largestCategories = 12

// LargestCategories counts the animals in the categories that have the most animals.
func (s *Service) LargestCategories(ctx context.Context) (LargestCategories, error) {
	return read(ctx, s, Reading{}, func(tx ReadTx) (LargestCategories, error) {
		counts, err := tx.LargestCategories(largestCategories)
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

// CountCategories counts the animals in the given categories. It leaves out categories without animals.
func (s *Service) CountCategories(ctx context.Context, ids []int64) (map[int64]Inventory, error) {
	return read(ctx, s, Reading{SingleQuery: true}, func(tx ReadTx) (map[int64]Inventory, error) {
		counts, err := tx.CountCategories(ids)
		byID := map[int64]Inventory{}
		for _, count := range counts {
			byID[count.CategoryID] = count.Inventory
		}
		return byID, err
	})
}

// foldMinimum is how many changes to the counts must be waiting before FoldCounts adds them. A PostgreSQL server keeps
// the old version of an updated row for a while, so fewer and larger updates leave fewer old versions. To read the
// counts with a thousand waiting changes takes less than a millisecond longer.
const foldMinimum = 1000

// FoldCounts adds the waiting changes to the stored counts if there are at least foldMinimum. Until then, every read of
// the counts adds them. It looks for them in a separate transaction, because it usually has nothing to write.
func (s *Service) FoldCounts(ctx context.Context) error {
	for {
		waiting, err := read(ctx, s, Reading{SingleQuery: true}, func(tx ReadTx) (int, error) { return tx.WaitingCounts(foldMinimum) })
		if err != nil || waiting < foldMinimum {
			return err
		}
		if err := s.inBackground(ctx, BookkeepingTx.FoldCounts); err != nil {
			return err
		}
	}
}
