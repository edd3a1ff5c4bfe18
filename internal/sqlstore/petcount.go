package sqlstore

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"

	"animalstore/internal/shop"
)

// The table pet_counts stores the number of pets in each category as of a position in the event feed. The events
// after this position, and those that have not been published yet, contain all changes since then, because every
// change to a pet is committed together with its event, whichever version of the program made it. So the stored
// counts and the changes in these events add up to the exact counts of a snapshot, and no write has to update the
// counts.

const countColumns = "category_id, available, pending, sold, unspecified"

func scanCount(scan Scanner) (count shop.CategoryCount, err error) {
	err = scan(&count.CategoryID, &count.Available, &count.Pending, &count.Sold, &count.Unspecified)
	return count, err
}

// ErrUncounted means that the number of pets in a category is not known, because the store has been damaged.
var ErrUncounted = errors.New("the number of pets in each category is not known")

// LargestCategories finds the n largest categories from stored counts, some of which may be out of date. If k categories
// have become smaller since their counts were stored, it reads the n+k largest stored counts. At least n of these
// categories have not become smaller. Only a category whose count has changed could be larger than them, so
// LargestCategories also reads the counts of all changed categories.
func (t *tx) LargestCategories(n int) ([]shop.CategoryCount, error) {
	recent, err := t.recentCounts()
	if err != nil {
		return nil, err
	}
	smaller := 0
	for _, change := range recent {
		if change.Total() < 0 {
			smaller++
		}
	}
	largest, err := all(t, scanCount, largestCounts+strconv.Itoa(n+smaller))
	if err != nil {
		return nil, err
	}
	stored := petCounts{}
	stored.add(largest)
	missing := slices.DeleteFunc(slices.Collect(maps.Keys(recent)), func(id int64) bool { _, read := stored[id]; return read })
	others, err := t.storedCounts(missing)
	if err != nil {
		return nil, err
	}
	stored.add(others)
	stored.add(recent.list())
	counts := stored.list()
	slices.SortFunc(counts, func(a, b shop.CategoryCount) int {
		return cmp.Or(cmp.Compare(b.Total(), a.Total()), cmp.Compare(a.CategoryID, b.CategoryID))
	})
	return counts[:min(n, len(counts))], nil
}

const largestCounts = "SELECT " + countColumns + " FROM pet_counts ORDER BY total DESC, category_id LIMIT "

func (t *tx) storedCounts(ids []int64) ([]shop.CategoryCount, error) {
	return allIn(t, ids, scanCount, "SELECT "+countColumns+" FROM pet_counts WHERE category_id IN (%s)")
}

func (t *tx) CountCategories(ids []int64) ([]shop.CategoryCount, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	recent, err := t.recentCounts()
	if err != nil {
		return nil, err
	}
	stored, err := t.storedCounts(ids)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(recent, func(id int64, _ shop.Inventory) bool { return !slices.Contains(ids, id) })
	recent.add(stored)
	return recent.list(), nil
}
