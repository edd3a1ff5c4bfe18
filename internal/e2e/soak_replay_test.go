package e2e

import (
	"slices"
	"strings"

	"animalstore/client"
)

// replay is a shop that is made of nothing but events, by rules of its own.
type replay struct {
	problem    func(string, ...any)
	pets       map[int64]client.Pet
	orders     map[int64]client.Order
	categories map[int64]client.Category
	members    map[int64]int              // how many animals each category has
	holds      map[int64]int64            // the open order of each animal that has one
	dueStatus  map[int64]client.PetStatus // what an animal must become next, because its order did something
	usedIDs    map[int64]bool             // the ids of all animals that ever were
}

func newReplay(problem func(string, ...any)) *replay {
	return &replay{problem: problem,
		pets: map[int64]client.Pet{}, orders: map[int64]client.Order{}, categories: map[int64]client.Category{},
		members: map[int64]int{}, holds: map[int64]int64{}, dueStatus: map[int64]client.PetStatus{}, usedIDs: map[int64]bool{}}
}

// apply lets one event happen. It must fit to what was before.
func (r *replay) apply(e client.Event) {
	kind, _, _ := strings.Cut(string(e.Type), ".")
	switch kind {
	case "pet":
		current, previous, _ := e.Pet() // markOf has told of an error
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
		entered := applyChange(r, e, r.categories, current, previous, func(c client.Category) int64 { return c.ID })
		if entered && current == nil && r.members[previous.ID] > 0 {
			r.problem("the event %s removes the category %d, which %d animals have", e.ID, previous.ID, r.members[previous.ID])
		}
	}
}

// applyChange makes a change of one of many things. What the event says was before must be what there is.
func applyChange[T comparable](r *replay, e client.Event, all map[int64]T, current, previous *T, id func(T) int64) bool {
	var key int64
	switch {
	case current != nil:
		key = id(*current)
	case previous != nil:
		key = id(*previous)
	default:
		r.problem("the event %s says nothing", e.ID)
		return false
	}
	got, there := all[key]
	if there != (previous != nil) || there && got != *previous {
		r.problem("the event %s, %s of %s, says that %+v was before; it was %+v", e.ID, e.Type, e.Subject, previous, got)
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
			r.problem("the event %s has an animal of the category %d, which is not there", e.ID, current.CategoryID)
		}
	}
	switch {
	case current == nil:
		if r.holds[previous.ID] != 0 {
			r.problem("the event %s removes the animal %d, which the order %d holds", e.ID, previous.ID, r.holds[previous.ID])
		}
	case previous == nil:
		if r.usedIDs[current.ID] {
			r.problem("the event %s adds the animal %d, which was another one before", e.ID, current.ID)
		}
		r.usedIDs[current.ID] = true
	case current.Name == previous.Name: // it follows from an order
		if want, expected := r.dueStatus[current.ID]; !expected || current.Status != want || current.CategoryID != previous.CategoryID {
			r.problem("the event %s makes the animal %d %q, its order %q", e.ID, current.ID, current.Status, want)
		}
		delete(r.dueStatus, current.ID)
	default: // it was made by hand
		if current.Status != previous.Status && r.holds[current.ID] != 0 {
			r.problem("the event %s makes %+v of the animal, which the order %d holds", e.ID, *current, r.holds[current.ID])
		}
		if current.Status == "" && previous.Status != "" || current.Status == client.PetPending && previous.Status == client.PetSold {
			r.problem("the event %s makes the animal %d %q, and it was %q", e.ID, current.ID, current.Status, previous.Status)
		}
	}
}

// orderTransitions are the statuses that an order can come from, and what it makes of its animal.
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
		r.problem("the event %s is %s of an order that is %s", e.ID, e.Type, current.Status)
	}
	held := r.holds[current.PetID]
	if previous == nil {
		if pet := r.pets[current.PetID]; pet.Status != client.PetAvailable || held != 0 {
			r.problem("the event %s sells %+v, which the order %d holds", e.ID, pet, held)
		}
		r.holds[current.PetID] = current.ID
	} else if held != current.ID || !slices.Contains(transition.from, previous.Status) || current.PetID != previous.PetID {
		r.problem("the event %s takes the order %+v to %+v; the animal is held by %d", e.ID, *previous, current, held)
	}
	if transition.animal != "" {
		if want, waiting := r.dueStatus[current.PetID]; waiting {
			r.problem("before the event %s the animal %d should have become %q", e.ID, current.PetID, want)
		}
		r.dueStatus[current.PetID] = transition.animal
	}
	if current.Status != client.OrderPlaced && current.Status != client.OrderApproved {
		delete(r.holds, current.PetID)
	}
}
