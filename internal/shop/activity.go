package shop

import (
	"context"
	"encoding/json"
)

// ActivityFilter selects the changes that match all of its fields. PetID selects the changes to an animal and to its
// newest orders. OrderID selects the changes to one order.
type ActivityFilter struct {
	EventFilter
	PetID   *int64
	OrderID *int64
}

// activityOrders is the maximum number of an animal's orders whose changes are listed together with the changes to
// the animal.
const activityOrders = 50

// ListActivity returns one page of changes, newest first. The work for one page is bounded, so the page may have
// fewer changes than the limit, or none, even if more pages follow. Changes that were removed because of their age
// are not included.
func (s *Service) ListActivity(ctx context.Context, by Caller, filter ActivityFilter, page PageRequest) (Page[Event], error) {
	// Publish first, so that the page includes every write that completed before this request.
	if err := s.store.Publish(ctx); err != nil {
		return Page[Event]{}, err
	}
	return read(ctx, s, Reading{By: by, Heavy: filter.isHeavy()}, func(tx ReadTx) (Page[Event], error) {
		events := filter.EventFilter
		events.Newest = true
		if filter.OrderID != nil {
			events.Subjects = []string{Order{ID: *filter.OrderID}.subject()}
		}
		if filter.PetID != nil {
			subjects, err := petSubjects(tx, *filter.PetID)
			if err != nil {
				return Page[Event]{}, err
			}
			// If the order is for another animal, nothing matches.
			if filter.OrderID != nil {
				subjects = intersect(subjects, events.Subjects)
			}
			if events.Subjects = subjects; len(subjects) == 0 {
				return Page[Event]{}, nil
			}
		}
		return s.events(tx, events, page)
	})
}

// petSubjects returns the event subjects of an animal, its profile and its newest orders, such as pets/7, pets/7/profile and
// store/orders/3.
func petSubjects(tx ReadTx, id int64) ([]string, error) {
	orders, err := tx.Orders(OrderList{PetID: &id, PageRequest: PageRequest{Limit: activityOrders}})
	subjects := []string{Pet{ID: id}.subject(), Profile{Pet: Pet{ID: id}}.subject()}
	for _, order := range orders {
		subjects = append(subjects, order.subject())
	}
	return subjects, err
}

// intersect returns the elements of a that are also in b.
func intersect(a, b []string) (both []string) {
	for _, text := range a {
		for _, other := range b {
			if text == other {
				both = append(both, text)
			}
		}
	}
	return both
}

// PetNames returns a map from the given ids to the names of the animals. For a removed animal, it returns the name
// that the animal had when it was removed, or "" if the events about it are no longer kept.
func (s *Service) PetNames(ctx context.Context, ids []int64) (map[int64]string, error) {
	return read(ctx, s, Reading{}, func(tx ReadTx) (map[int64]string, error) {
		names := map[int64]string{}
		if len(ids) == 0 {
			return names, nil
		}
		pets, err := tx.Pets(PetList{PetFilter: PetFilter{IDs: ids}, PageRequest: PageRequest{Limit: len(ids)}})
		if err != nil {
			return nil, err
		}
		for _, pet := range pets {
			names[pet.ID] = pet.Name
		}
		for _, id := range ids {
			if _, found := names[id]; found {
				continue
			}
			if names[id], err = lastName(tx, Pet{ID: id}); err != nil {
				return nil, err
			}
		}
		return names, nil
	})
}

// lastName returns the name that an animal or a key had when it was deleted, or "" if the events about it have been
// removed.
func lastName(tx ReadTx, deleted resource) (string, error) {
	newest, err := tx.NewestEvents(deleted.subject(), 1)
	if err != nil || len(newest) == 0 {
		return "", err
	}
	var data struct {
		Current, Previous struct{ Name string }
	}
	err = json.Unmarshal(newest[0].Data, &data)
	if data.Current.Name != "" {
		return data.Current.Name, err
	}
	return data.Previous.Name, err
}
