package sqlstore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"animalstore/internal/shop"
)

// The number of pets in each category is stored as of a position in the feed. The events that follow this
// position, and those that have not been published yet, say what has changed since: every change of a pet is
// committed together with its event, whichever version of the program made it. So the stored counts and these
// events are exactly the counts of a snapshot, and no write has to touch the counts.

const countColumns = "category_id, available, pending, sold, unspecified"

func scanCount(scan Scanner) (count shop.CategoryCount, err error) {
	err = scan(&count.CategoryID, &count.Available, &count.Pending, &count.Sold, &count.Unspecified)
	return count, err
}

// petCounts is the number of pets in each category, or a change to it.
type petCounts map[int64]shop.Inventory

// addEvent adds the change that an event reports about a pet.
func (c petCounts) addEvent(data string) error {
	var states struct{ Current, Previous *shop.Pet }
	if err := json.Unmarshal([]byte(data), &states); err != nil {
		return err
	}
	c.addPet(states.Current, +1)
	c.addPet(states.Previous, -1)
	return nil
}

func (c petCounts) addPet(pet *shop.Pet, n int64) {
	if pet == nil {
		return
	}
	count := c[pet.CategoryID]
	switch pet.Status {
	case shop.Available:
		count.Available += n
	case shop.Pending:
		count.Pending += n
	case shop.Sold:
		count.Sold += n
	default:
		count.Unspecified += n
	}
	c[pet.CategoryID] = count
}

// add adds counts to those of their categories.
func (c petCounts) add(counts []shop.CategoryCount) {
	for _, count := range counts {
		sum := c[count.CategoryID]
		sum.Available += count.Available
		sum.Pending += count.Pending
		sum.Sold += count.Sold
		sum.Unspecified += count.Unspecified
		c[count.CategoryID] = sum
	}
}

// list returns the counts that are not zero, sorted by category.
func (c petCounts) list() []shop.CategoryCount {
	var counts []shop.CategoryCount
	for _, id := range slices.Sorted(maps.Keys(c)) {
		if c[id] != (shop.Inventory{}) {
			counts = append(counts, shop.CategoryCount{CategoryID: id, Inventory: c[id]})
		}
	}
	return counts
}

// countPosition returns the position of the last event that the stored counts include.
func (t *tx) countPosition() (int64, error) {
	position, found, err := one(t, scanValue[int64], "SELECT position FROM pet_count_progress WHERE one = 1")
	if err == nil && !found {
		err = t.fail(fmt.Errorf("%w: pet_count_progress is empty", ErrUncounted))
	}
	return position, err
}

// addEvents adds the changes of the events that a query selects with their id, type and data. It returns the
// number of events and the largest id.
func (t *tx) addEvents(counts petCounts, query string, args ...any) (n, last int64, err error) {
	_, err = all(t, func(scan Scanner) (none struct{}, err error) {
		var data string
		if err := scan(&last, &data); err != nil {
			return none, err
		}
		n++
		if data == "" {
			return none, nil
		}
		if err := counts.addEvent(data); err != nil {
			return none, fmt.Errorf("%w: event %d cannot be read: %w", ErrUncounted, last, err)
		}
		return none, nil
	}, query, args...)
	return n, last, err
}

// petEvents selects the positions of events, and the data of those that are about pets.
const petEvents = "SELECT id, CASE WHEN type LIKE 'pet.%' THEN data ELSE '' END FROM "

// recentCounts returns the changes since the stored counts.
func (t *tx) recentCounts() (petCounts, error) {
	position, err := t.countPosition()
	if err != nil {
		return nil, err
	}
	counts := petCounts{}
	if _, _, err := t.addEvents(counts, petEvents+"events WHERE id > $1 ORDER BY id", position); err != nil {
		return nil, err
	}
	if t.dialect.inbox != "events" {
		_, _, err = t.addEvents(counts, petEvents+t.dialect.queue(t.dialect.inbox))
	}
	return counts, err
}

// LargestCategories reads enough of the largest stored counts that n of them have not become smaller since. All
// other categories are smaller than these, unless they have changed.
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

func (t *tx) CountChanges(minimum, maximum int64) (shop.CountChanges, error) {
	position, err := t.countPosition()
	if err != nil {
		return shop.CountChanges{}, err
	}
	if horizon, err := t.EventHorizon(); err != nil || horizon > position {
		return shop.CountChanges{Lost: err == nil}, err
	}
	last, _, err := one(t, scanValue[int64], "SELECT coalesce(max(id), 0) FROM events")
	if err != nil || last-position < minimum { // as nearly always
		return shop.CountChanges{}, err
	}
	return t.countChanges(position, "id > $1 ORDER BY id LIMIT $2", position, maximum)
}

func (t *tx) countChanges(position int64, condition string, args ...any) (shop.CountChanges, error) {
	counts := petCounts{}
	n, last, err := t.addEvents(counts, petEvents+"events WHERE "+condition, args...)
	if err != nil || n == 0 {
		return shop.CountChanges{}, err
	}
	return shop.CountChanges{From: position, To: last, Changes: counts.list()}, nil
}

// FoldCounts moves the position and adds the changes in one transaction. The condition on the position makes
// sure that each event is added once.
func (t *tx) FoldCounts(changes shop.CountChanges) error {
	_, moved, err := one(t, scanValue[int64], "UPDATE pet_count_progress SET position = $1 WHERE one = 1 AND position = $2 RETURNING one",
		changes.To, changes.From)
	if err != nil || !moved {
		return err
	}
	err = inChunks(changes.Changes, placeholders(6), func(part []shop.CategoryCount, places string) error {
		var args []any
		for _, c := range part {
			args = append(args, c.CategoryID, c.Available, c.Pending, c.Sold, c.Unspecified, c.Total())
		}
		return t.exec("INSERT INTO pet_counts ("+countColumns+", total) VALUES "+places+` ON CONFLICT (category_id) DO UPDATE SET
			available = pet_counts.available + excluded.available, pending = pet_counts.pending + excluded.pending,
			sold = pet_counts.sold + excluded.sold, unspecified = pet_counts.unspecified + excluded.unspecified,
			total = pet_counts.total + excluded.total`, args...)
	})
	if err != nil {
		return err
	}
	return t.exec("DELETE FROM pet_counts WHERE total = 0")
}

// foldCountsUpTo adds the changes of all events up to a position to the stored counts, before these events are
// removed.
func (t *tx) foldCountsUpTo(last int64) error {
	position, err := t.countPosition()
	if err != nil || position >= last {
		return err
	}
	changes, err := t.countChanges(position, "id > $1 AND id <= $2 ORDER BY id", position, last)
	if err != nil || changes.From == changes.To {
		return err
	}
	return t.FoldCounts(changes)
}
