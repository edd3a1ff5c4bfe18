package sqlstore

import (
	"fmt"

	"animalstore/internal/shop"
)

// countPets counts the pets in each category by status. %s stands for further columns. An index on category and status
// contains all columns that the query needs, so the database reads only this index.
const countPets = "SELECT category_id, count(CASE WHEN status = 'available' THEN 1 END), count(CASE WHEN status = 'pending' THEN 1 END), " +
	"count(CASE WHEN status = 'sold' THEN 1 END), count(CASE WHEN status IS NULL THEN 1 END)%s FROM pets GROUP BY category_id"

// CountPets are the statements that count the pets in a store and fill pet_counts and pet_count_progress. Both tables
// must be empty, and all events must have been published.
var CountPets = []string{
	"INSERT INTO pet_counts (" + countColumns + ", total) " + fmt.Sprintf(countPets, ", count(*)"),
	"INSERT INTO pet_count_progress (one, position) SELECT 1, coalesce(max(id), 0) FROM events",
}

// RecountPets counts all pets and stores the counts as of the last event in the feed. The counted pets already include
// the changes of the events in the inbox. These events will be added to the counts later, so their changes are
// subtracted here.
func (t *tx) RecountPets() error {
	position, lost, err := t.countPosition()
	if err != nil || !lost { // another node has already counted
		return err
	}
	last, err := t.LastEvent()
	if err != nil {
		return err
	}
	counts := petCounts{}
	if t.dialect.inbox != "events" {
		if _, _, err := t.addEvents(counts, petEvents+t.dialect.queue(t.dialect.inbox)); err != nil {
			return err
		}
	}
	for id, n := range counts {
		counts[id] = shop.Inventory{Available: -n.Available, Pending: -n.Pending, Sold: -n.Sold, Unspecified: -n.Unspecified}
	}
	pets, err := all(t, scanCount, fmt.Sprintf(countPets, ""))
	if err != nil {
		return err
	}
	counts.add(pets)
	if err := t.exec("DELETE FROM pet_counts"); err != nil {
		return err
	}
	return t.FoldCounts(shop.CountChanges{From: position, To: last, Changes: counts.list()})
}
