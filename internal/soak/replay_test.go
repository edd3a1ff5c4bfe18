package soak

import (
	"slices"
	"strings"

	"animalstore/client"
)

// replay rebuilds the state of the store from its events. It uses its own implementation of the store's
// rules.
type replay struct {
	problem    func(string, ...any)
	pets       map[int64]client.Pet
	orders     map[int64]client.Order
	categories map[int64]client.Category
	members    map[int64]int   // the number of animals in each category
	holds      map[int64]int64 // the open order for each animal
	// dueStatus is the status that the next event must give to each animal whose order has changed.
	dueStatus map[int64]client.PetStatus
	usedIDs   map[int64]bool // the IDs of all animals, including removed ones
}

func newReplay(problem func(string, ...any)) *replay {
	return &replay{problem: problem,
		pets: map[int64]client.Pet{}, orders: map[int64]client.Order{}, categories: map[int64]client.Category{},
		members: map[int64]int{}, holds: map[int64]int64{}, dueStatus: map[int64]client.PetStatus{}, usedIDs: map[int64]bool{}}
}

// apply applies one event and reports a problem if the event contradicts the state before it.
func (r *replay) apply(e client.Event) {
	kind, _, _ := strings.Cut(string(e.Type), ".")
	switch kind {
	case "pet":
		current, previous, _ := e.Pet() // check has already reported any error
		if applyChange(r, e, r.pets, current, previous, func(p client.Pet) int64 { return p.ID }) {
			r.applyPet(e, current, previous)
		}
	case "order":
		current, previous, _ := e.Order()
		if applyChange(r, e, r.orders, current, previous, func(o client.Order) int64 { return o.ID }) {
			r.applyOrder(e, *current, previous)
		}
	case "category":
		current, previous, _ := e.Category()
		applied := applyChange(r, e, r.categories, current, previous, func(c client.Category) int64 { return c.ID })
		if applied && current == nil && r.members[previous.ID] > 0 {
			r.problem("event %s removes category %d, which has %d animals", e.ID, previous.ID, r.members[previous.ID])
		}
	}
}

// applyChange applies an event to the map all, which contains the current objects by ID. The event's previous
// state must match the object in the map. It returns false if the event has neither a current nor a previous
// state.
func applyChange[T comparable](r *replay, e client.Event, all map[int64]T, current, previous *T, id func(T) int64) bool {
	var key int64
	switch {
	case current != nil:
		key = id(*current)
	case previous != nil:
		key = id(*previous)
	default:
		r.problem("event %s has no data", e.ID)
		return false
	}
	got, there := all[key]
	if there != (previous != nil) || there && got != *previous {
		r.problem("event %s, %s of %s, states that %+v was before; it was %+v", e.ID, e.Type, e.Subject, previous, got)
	}
	if current == nil {
		delete(all, key)
	} else {
		all[key] = *current
	}
	return true
}

func (r *replay) applyPet(e client.Event, current, previous *client.Pet) {
	if previous != nil {
		r.members[previous.CategoryID]--
	}
	if current != nil {
		r.members[current.CategoryID]++
		if _, there := r.categories[current.CategoryID]; !there {
			r.problem("event %s has an animal in category %d, which does not exist", e.ID, current.CategoryID)
		}
	}
	switch {
	case current == nil:
		if r.holds[previous.ID] != 0 {
			r.problem("event %s removes animal %d, which order %d holds", e.ID, previous.ID, r.holds[previous.ID])
		}
	case previous == nil:
		if r.usedIDs[current.ID] {
			r.problem("event %s adds animal %d, an ID that was used before", e.ID, current.ID)
		}
		r.usedIDs[current.ID] = true
	// An update that keeps the name must be the result of an order, because clients always rename the animals
	// that they update.
	case current.Name == previous.Name:
		if want, expected := r.dueStatus[current.ID]; !expected || current.Status != want || current.CategoryID != previous.CategoryID {
			r.problem("event %s makes animal %d %q, want %q because of its order", e.ID, current.ID, current.Status, want)
		}
		delete(r.dueStatus, current.ID)
	default: // an update by a client
		if current.Status != previous.Status && r.holds[current.ID] != 0 {
			r.problem("event %s changes an animal to %+v while order %d holds it", e.ID, *current, r.holds[current.ID])
		}
		if current.Status == "" && previous.Status != "" || current.Status == client.PetPending && previous.Status == client.PetSold {
			r.problem("event %s makes animal %d %q, but it was %q", e.ID, current.ID, current.Status, previous.Status)
		}
	}
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

func (r *replay) applyOrder(e client.Event, current client.Order, previous *client.Order) {
	transition := orderTransitions[current.Status]
	if string(e.Type) != "order."+string(current.Status) {
		r.problem("event %s is %s of an order that is %s", e.ID, e.Type, current.Status)
	}
	held := r.holds[current.PetID]
	if previous == nil {
		if pet := r.pets[current.PetID]; pet.Status != client.PetAvailable || held != 0 {
			r.problem("event %s sells %+v, which order %d holds", e.ID, pet, held)
		}
		r.holds[current.PetID] = current.ID
	} else if held != current.ID || !slices.Contains(transition.from, previous.Status) || current.PetID != previous.PetID {
		r.problem("event %s changes order %+v to %+v; order %d holds the animal", e.ID, *previous, current, held)
	}
	if transition.animal != "" {
		if want, waiting := r.dueStatus[current.PetID]; waiting {
			r.problem("before event %s, animal %d should have become %q", e.ID, current.PetID, want)
		}
		r.dueStatus[current.PetID] = transition.animal
	}
	if current.Status != client.OrderPlaced && current.Status != client.OrderApproved {
		delete(r.holds, current.PetID)
	}
}
