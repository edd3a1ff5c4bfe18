package workload

import (
	"slices"
	"strings"

	"animalstore/client"
)

// replay rebuilds the state of the store from its events. It uses its own implementation of the store's
// rules.
type replay struct {
	report     func(string, ...any)
	pets       map[int64]client.Pet
	orders     map[int64]client.Order
	categories map[int64]client.Category
	members    map[int64]int   // the number of animals in each category
	holds      map[int64]int64 // the open order for each animal
	// dueStatus contains the animals whose order has changed, with the status that the next event about each animal
	// must report.
	dueStatus map[int64]client.PetStatus
	usedIDs   map[int64]bool // the IDs of all animals, including removed ones
}

func newReplay(report func(string, ...any)) replay {
	return replay{report: report,
		pets: map[int64]client.Pet{}, orders: map[int64]client.Order{}, categories: map[int64]client.Category{},
		members: map[int64]int{}, holds: map[int64]int64{}, dueStatus: map[int64]client.PetStatus{}, usedIDs: map[int64]bool{}}
}

func petID(p client.Pet) int64           { return p.ID }
func orderID(o client.Order) int64       { return o.ID }
func categoryID(c client.Category) int64 { return c.ID }

// apply applies one event, reports a problem if the event contradicts the state before it, and returns the
// event's key.
func (r *replay) apply(e client.Event) (key string, err error) {
	switch kind, _, _ := strings.Cut(string(e.Type), "."); kind {
	case "pet":
		current, previous, err := e.Pet()
		if err == nil && applyChange(r, e, r.pets, current, previous, petID) {
			key = r.applyPet(e, current, previous)
		}
		return key, err
	case "order":
		current, previous, err := e.Order()
		if err == nil && applyChange(r, e, r.orders, current, previous, orderID) {
			key = r.applyOrder(e, *current, previous)
		}
		return key, err
	case "category":
		current, previous, err := e.Category()
		if err != nil || !applyChange(r, e, r.categories, current, previous, categoryID) {
			return "", err
		}
		if current == nil {
			if n := r.members[previous.ID]; n > 0 {
				r.report("event %s removes category %d, which has %d animals", e.ID, previous.ID, n)
			}
			return "remove " + e.Subject, nil
		}
		if current.Name != "" {
			return "name " + current.Name, nil
		}
	}
	return "", nil
}

// applyChange applies an event to the map all, which contains the current objects by ID. The event's previous state
// must match the object in the map. applyChange returns false if the event has neither a current nor a previous state.
func applyChange[T comparable](r *replay, e client.Event, all map[int64]T, current, previous *T, id func(T) int64) bool {
	either := current
	if current == nil {
		either = previous
	}
	if either == nil {
		r.report("event %s has no data", e.ID)
		return false
	}
	got, there := all[id(*either)]
	if there != (previous != nil) || there && got != *previous {
		r.report("event %s, %s of %s, states that %+v was before; it was %+v", e.ID, e.Type, e.Subject, previous, got)
	}
	if current == nil {
		delete(all, id(*either))
	} else {
		all[id(*either)] = *current
	}
	return true
}

func (r *replay) applyPet(e client.Event, current, previous *client.Pet) (key string) {
	if previous != nil {
		r.members[previous.CategoryID]--
	}
	if current == nil {
		if r.holds[previous.ID] != 0 {
			r.report("event %s removes animal %d, which order %d holds", e.ID, previous.ID, r.holds[previous.ID])
		}
		return "remove " + e.Subject
	}
	r.members[current.CategoryID]++
	if _, there := r.categories[current.CategoryID]; !there {
		r.report("event %s has an animal in category %d, which does not exist", e.ID, current.CategoryID)
	}
	switch {
	case e.Type == client.EventPetRestored:
		if !r.usedIDs[current.ID] {
			r.report("event %s restores animal %d, which never existed", e.ID, current.ID)
		}
		return "restore " + e.Subject
	case previous == nil:
		if r.usedIDs[current.ID] {
			r.report("event %s adds animal %d, an ID that was used before", e.ID, current.ID)
		}
		r.usedIDs[current.ID] = true
		return "add " + current.Name
	// An update that keeps the name must be the result of an order, because clients always rename the animals
	// that they update.
	case current.Name == previous.Name:
		if want, expected := r.dueStatus[current.ID]; !expected || current.Status != want || current.CategoryID != previous.CategoryID {
			r.report("event %s makes animal %d %q, want %q because of its order", e.ID, current.ID, current.Status, want)
		}
		delete(r.dueStatus, current.ID)
		return ""
	}
	if current.Status != previous.Status && r.holds[current.ID] != 0 {
		r.report("event %s changes an animal to %+v while order %d holds it", e.ID, *current, r.holds[current.ID])
	}
	if current.Status == "" && previous.Status != "" || current.Status == client.PetPending && previous.Status == client.PetSold {
		r.report("event %s makes animal %d %q, but it was %q", e.ID, current.ID, current.Status, previous.Status)
	}
	return "rename " + current.Name
}

// orderTransitions lists, for each order status, the statuses that may precede it and the status that the
// animal then gets.
var orderTransitions = map[client.OrderStatus]struct {
	from   []client.OrderStatus
	animal client.PetStatus
}{
	client.OrderPlaced:    {nil, client.PetPending},
	client.OrderApproved:  {[]client.OrderStatus{client.OrderPlaced}, ""},
	client.OrderDelivered: {[]client.OrderStatus{client.OrderApproved}, client.PetSold},
	client.OrderCancelled: {[]client.OrderStatus{client.OrderPlaced, client.OrderApproved}, client.PetAvailable},
	client.OrderExpired:   {[]client.OrderStatus{client.OrderPlaced}, client.PetAvailable},
}

func (r *replay) applyOrder(e client.Event, current client.Order, previous *client.Order) (key string) {
	if e.Type == client.EventOrderUpdated {
		if previous == nil || current.Status != previous.Status || current.PetID != previous.PetID || r.holds[current.PetID] != current.ID {
			r.report("event %s changes order %+v to %+v", e.ID, previous, current)
		}
		return string(e.Type) + " " + current.Reference
	}
	transition := orderTransitions[current.Status]
	if string(e.Type) != "order."+string(current.Status) {
		r.report("event %s is %s of an order that is %s", e.ID, e.Type, current.Status)
	}
	held := r.holds[current.PetID]
	if previous == nil {
		if pet := r.pets[current.PetID]; pet.Status != client.PetAvailable || held != 0 {
			r.report("event %s sells %+v, which order %d holds", e.ID, pet, held)
		}
		r.holds[current.PetID] = current.ID
	} else if held != current.ID || !slices.Contains(transition.from, previous.Status) || current.PetID != previous.PetID {
		r.report("event %s changes order %+v to %+v; order %d holds the animal", e.ID, *previous, current, held)
	}
	if transition.animal != "" {
		if want, waiting := r.dueStatus[current.PetID]; waiting {
			r.report("before event %s, animal %d should have become %q", e.ID, current.PetID, want)
		}
		r.dueStatus[current.PetID] = transition.animal
	}
	if current.Status != client.OrderPlaced && current.Status != client.OrderApproved {
		delete(r.holds, current.PetID)
	}
	switch current.Status {
	case client.OrderPlaced:
		return "place " + current.Reference
	case client.OrderExpired:
		return "" // clients do not cause such events
	}
	return string(e.Type) + " " + e.Subject
}
