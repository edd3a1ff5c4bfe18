package sqlstore

import (
	"fmt"

	"animalstore/internal/shop"
)

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
