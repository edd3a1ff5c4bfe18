package soak

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"animalstore/client"
)

// opResult is what the client knows about the result of an operation.
type opResult string

const (
	done    opResult = "done"    // the service acknowledged the operation
	refused opResult = "refused" // the service refused the operation, so it must not have taken effect
	lost    opResult = "lost"    // no response arrived, so the operation may have taken effect, but only once
)

// operation is one change that a client attempted, including its retries.
type operation struct {
	eventKey        string // identifies the operation's event (see eventKeyOf)
	subject         string // the subject of the operation's event, if the response contained it
	sent, responded time.Duration
	result          opResult
	returnsPet      int64  // the animal that this operation makes available again, or 0 if there is none
	noRetry         bool   // do not retry, because a retry could apply the change twice
	batch           string // identifies a batch, in which either all operations take effect or none
}

// soakHistory contains the operations that clients performed and the final state that the service reports
// after the load has ended.
type soakHistory struct {
	operations []*operation
	events     []client.Event
	pets       []client.Pet
	orders     []client.Order
	categories []client.Category
	inventory  client.Inventory
	exports    []exportedPets
}

// eventKeyOf returns the key that connects an event with the operation that caused it. The key is unique
// because clients use each name and each reference only once. The key is "" for an event that only follows
// from another event, such as the change to an animal's status after an order.
func eventKeyOf(e client.Event) (string, error) {
	switch e.Type {
	case client.EventPetCreated, client.EventPetUpdated, client.EventPetDeleted:
		current, previous, err := e.Pet()
		switch {
		case err != nil:
			return "", err
		case current == nil:
			return "remove " + e.Subject, nil
		case previous == nil:
			return "add " + current.Name, nil
		case previous.Name != current.Name:
			return "rename " + current.Name, nil
		}
		return "", nil
	case client.EventCategoryCreated, client.EventCategoryUpdated, client.EventCategoryDeleted:
		current, _, err := e.Category()
		switch {
		case err != nil:
			return "", err
		case current == nil:
			return "remove " + e.Subject, nil
		case current.Name != "":
			return "name " + current.Name, nil
		}
		return "", nil
	case client.EventOrderPlaced:
		current, _, err := e.Order()
		if err != nil {
			return "", err
		}
		return "place " + current.Reference, nil
	case client.EventOrderApproved, client.EventOrderDelivered, client.EventOrderCancelled:
		return string(e.Type) + " " + e.Subject, nil
	}
	return "", nil // clients do not cause such events directly
}

// check returns a description of every contradiction in the history.
func (s soakHistory) check() (problems []string) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	at := map[string][]int{} // maps each event key to the indexes of the events that have it
	for i, e := range s.events {
		key, err := eventKeyOf(e)
		if err != nil {
			problem("event %s: %v", e.ID, err)
		} else if key != "" {
			at[key] = append(at[key], i)
		}
		if i > 0 && !comesAfter(e.ID, s.events[i-1].ID) {
			problem("event %s comes after %s", e.ID, s.events[i-1].ID)
		}
	}
	s.checkOperations(at, problem)
	s.checkRealTimeOrder(at, problem)
	s.checkSales(problem)
	s.checkImportsAndExports(at, problem)
	replay := newReplay(problem)
	for _, e := range s.events {
		replay.apply(e)
	}
	s.checkFinalState(replay, problem)
	return problems
}

func comesAfter(id, before string) bool {
	return len(id) > len(before) || len(id) == len(before) && id > before
}

// checkOperations checks that every acknowledged operation has exactly one event, that no refused operation
// has an event, and that every event with a key belongs to an operation.
func (s soakHistory) checkOperations(at map[string][]int, problem func(string, ...any)) {
	type count struct{ done, lost int }
	counts := map[string]count{}
	for _, op := range s.operations {
		c := counts[op.eventKey]
		switch op.result {
		case done:
			c.done++
			if !slices.ContainsFunc(at[op.eventKey], func(i int) bool { return op.subject == "" || s.events[i].Subject == op.subject }) {
				problem("%q was acknowledged as %s, but has no event", op.eventKey, op.subject)
			}
		case lost:
			c.lost++
		}
		counts[op.eventKey] = c
	}
	for key, c := range counts {
		if n := len(at[key]); n < c.done || n > c.done+c.lost {
			problem("%q happened %d times; it was acknowledged %d times, and got no response %d times", key, n, c.done, c.lost)
		}
	}
	for key, events := range at {
		if _, sent := counts[key]; !sent {
			problem("%q happened as event %s, but no client sent it", key, s.events[events[0]].ID)
		}
	}
}

// positioned is an operation and its position in a sequence that must agree with real time.
type positioned struct {
	position int64
	*operation
}

// checkRealTimeOrder considers pairs of operations in which the first was acknowledged before the second was
// sent. The first operation must come first in the feed. If both operations create animals, the first must
// also have the smaller ID.
func (s soakHistory) checkRealTimeOrder(at map[string][]int, problem func(string, ...any)) {
	times := map[string]int{}
	for _, op := range s.operations {
		times[op.eventKey]++
	}
	var feed, ids []positioned
	for _, op := range s.operations {
		if events := at[op.eventKey]; len(events) == 1 && times[op.eventKey] == 1 {
			feed = append(feed, positioned{int64(events[0]), op})
			if e := s.events[events[0]]; e.Type == client.EventPetCreated {
				pet, _, _ := e.Pet() // check has already reported any error
				ids = append(ids, positioned{pet.ID, op})
			}
		}
	}
	checkOrder(feed, "feed", problem)
	checkOrder(ids, "order of IDs", problem)
}

func checkOrder(operations []positioned, where string, problem func(string, ...any)) {
	slices.SortFunc(operations, func(a, b positioned) int { return cmp.Compare(a.position, b.position) })
	latest := &operation{}
	for _, m := range operations {
		if m.result == done && m.responded < latest.sent {
			problem("%q was acknowledged before %q was sent, but follows it in the %s", m.eventKey, latest.eventKey, where)
		}
		if m.sent > latest.sent {
			latest = m.operation
		}
	}
}

// checkSales checks that an animal is sold at most once, plus once for each time that a client made it
// available again.
func (s soakHistory) checkSales(problem func(string, ...any)) {
	sold, returns := map[int64]int{}, map[int64]int{}
	for _, op := range s.operations {
		if op.returnsPet != 0 && op.result != refused {
			returns[op.returnsPet]++
		}
	}
	for _, o := range s.orders {
		if o.Status == client.OrderDelivered {
			sold[o.PetID]++
		}
	}
	for id, n := range sold {
		if n > 1+returns[id] {
			problem("animal %d was sold %d times, but returned %d times", id, n, returns[id])
		}
	}
}

// checkFinalState compares the lists and the inventory with the state that results from replaying the events.
func (s soakHistory) checkFinalState(r *replay, problem func(string, ...any)) {
	var counted client.Inventory
	pets, orders, categories := map[int64]client.Pet{}, map[int64]client.Order{}, map[int64]client.Category{}
	for _, p := range s.pets {
		if _, twice := pets[p.ID]; twice {
			problem("%+v is listed twice", p)
		}
		pets[p.ID] = p
		switch p.Status {
		case client.PetAvailable:
			counted.Available++
		case client.PetPending:
			counted.Pending++
		case client.PetSold:
			counted.Sold++
		default:
			counted.Unspecified++
		}
	}
	for _, o := range s.orders {
		orders[o.ID] = o
	}
	for _, c := range s.categories {
		categories[c.ID] = c
	}
	compareState(problem, r.pets, pets)
	compareState(problem, r.orders, orders)
	compareState(problem, r.categories, categories)
	if s.inventory != counted {
		problem("the inventory is %+v, but the list contains %+v", s.inventory, counted)
	}
	for id, status := range r.dueStatus {
		problem("animal %d should have become %q with its order", id, status)
	}
}

func compareState[T comparable](problem func(string, ...any), want, found map[int64]T) {
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if got, there := found[id]; !there || got != want[id] {
			problem("got %+v, want %+v according to the events", got, want[id])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		if _, there := want[id]; !there {
			problem("%+v exists, but has no event", found[id])
		}
	}
}

// firstProblems joins the first 30 problems, one per line.
func firstProblems(problems []string) string {
	const limit = 30
	if more := len(problems) - limit; more > 0 {
		problems = append(problems[:limit:limit], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(problems, "\n")
}
