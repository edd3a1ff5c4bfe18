package sqlstore

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"animalstore/internal/shop"
)

// petCounts maps the id of each category to the number of pets in it, or to a change in this number.
type petCounts map[int64]shop.Inventory

// addEvent adds the change to a pet that an event reports. data is the event's JSON data.
func (c petCounts) addEvent(data string) error {
	var states struct {
		Current  *shop.Pet `json:"current"`
		Previous *shop.Pet `json:"previous"`
	}
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

// add adds each count to the count of the same category.
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

// countPosition returns the position of the last event that the stored counts include, and whether any later events
// have been removed.
func (t *tx) countPosition() (position int64, lost bool, err error) {
	position, found, err := one(t, scanValue[int64], "SELECT position FROM pet_count_progress WHERE one = 1")
	if err != nil {
		return 0, false, err
	}
	if !found {
		return 0, false, t.fail(fmt.Errorf("%w: pet_count_progress is empty", ErrUncounted))
	}
	horizon, err := t.EventHorizon()
	return position, horizon > position, err
}

// addEvents adds to counts the changes reported by the events that a query selects. The query must begin with
// petEvents. addEvents returns the number of events and the id of the last one. It fails with ErrUncounted if the
// data of an event is not valid JSON.
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

// petEvents is the beginning of a query for the ids and the data of events. The data is empty if an event is not
// about a pet.
const petEvents = "SELECT id, CASE WHEN type LIKE 'pet.%' THEN data ELSE '' END FROM "

// recentCounts returns how the counts have changed since they were stored. It fails with shop.ErrRecounting if an
// event that reports a change has been removed.
func (t *tx) recentCounts() (petCounts, error) {
	position, lost, err := t.countPosition()
	if err != nil {
		return nil, err
	}
	if lost {
		return nil, shop.ErrRecounting
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
