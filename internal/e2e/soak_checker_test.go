package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"animalstore/client"
)

// opResult is what came of a deed.
type opResult string

const (
	done    opResult = "done"    // acknowledged
	refused opResult = "refused" // and so not done
	lost    opResult = "lost"    // it may have been done, once, or not
)

// operation is one change that a visitor tried to make, however often it had to be sent.
type operation struct {
	eventKey        string // what its event is known by, see markOf
	subject         string // of the event, as far as the answer told
	sent, responded time.Duration
	result          opResult
	returnsPet      int64  // the animal that can be sold again by it
	noRetry         bool   // it is not asked for again, because it might happen again
	batch           string // all deeds of one are done, or none
}

// soakHistory is all that there is to know when everything has come to rest.
type soakHistory struct {
	operations []*operation
	events     []client.Event
	pets       []client.Pet
	orders     []client.Order
	categories []client.Category
	inventory  client.Inventory
	exports    []exportedPets
}

// eventKeyOf says by what a deed knows its event. Names and references are used once only. What follows from something else, such as
// that of an animal from that of its order, has no mark.
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
	return "", nil // nobody asked for it, or it is none of the visitors' business
}

// check returns everything that is wrong with the story.
func (s soakHistory) check() (problems []string) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	at := map[string][]int{} // where the events of each mark stand in the feed
	for i, e := range s.events {
		key, err := eventKeyOf(e)
		if err != nil {
			problem("the event %s: %v", e.ID, err)
		} else if key != "" {
			at[key] = append(at[key], i)
		}
		if i > 0 && !comesAfter(e.ID, s.events[i-1].ID) {
			problem("the event %s comes after %s", e.ID, s.events[i-1].ID)
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

// checkOperations expects the event of every deed that was acknowledged, none of what was refused, none twice, and none that nobody
// asked for.
func (s soakHistory) checkOperations(at map[string][]int, problem func(string, ...any)) {
	type count struct{ done, lost int }
	counts := map[string]count{}
	for _, op := range s.operations {
		c := counts[op.eventKey]
		switch op.result {
		case done:
			c.done++
			if !slices.ContainsFunc(at[op.eventKey], func(i int) bool { return op.subject == "" || s.events[i].Subject == op.subject }) {
				problem("%q was acknowledged as %s, and no event tells of it", op.eventKey, op.subject)
			}
		case lost:
			c.lost++
		}
		counts[op.eventKey] = c
	}
	for key, c := range counts {
		if n := len(at[key]); n < c.done || n > c.done+c.lost {
			problem("%q happened %d times; it was acknowledged %d times, and %d times there was no answer", key, n, c.done, c.lost)
		}
	}
	for key, events := range at {
		if _, sent := counts[key]; !sent {
			problem("%q happened as event %s, and nobody asked for it", key, s.events[events[0]].ID)
		}
	}
}

// positioned is a deed with its place in an order that must be that of time, too.
type positioned struct {
	position int64
	*operation
}

// checkRealTimeOrder expects what was acknowledged before something else was asked for to stand before it in the feed, and new
// animals to have larger ids than those before them.
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
				pet, _, _ := e.Pet() // markOf has told of an error
				ids = append(ids, positioned{pet.ID, op})
			}
		}
	}
	checkOrder(feed, "feed", problem)
	checkOrder(ids, "order of ids", problem)
}

func checkOrder(operations []positioned, where string, problem func(string, ...any)) {
	slices.SortFunc(operations, func(a, b positioned) int { return cmp.Compare(a.position, b.position) })
	latest := &operation{}
	for _, m := range operations {
		if m.result == done && m.responded < latest.sent {
			problem("%q was acknowledged before %q was sent, and stands after it in the %s", m.eventKey, latest.eventKey, where)
		}
		if m.sent > latest.sent {
			latest = m.operation
		}
	}
}

// checkSales looks at the orders alone: an animal is sold once, and once more each time that somebody took it back.
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
			problem("the animal %d was sold %d times, and came back %d times", id, n, returns[id])
		}
	}
}

// checkFinalState expects to find what the events say.
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
		problem("the inventory is %+v, the animals are %+v", s.inventory, counted)
	}
	for id, hold := range r.dueStatus {
		problem("the animal %d should have become %q with its order", id, hold)
	}
}

func compareState[T comparable](problem func(string, ...any), want, found map[int64]T) {
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if got, there := found[id]; !there || got != want[id] {
			problem("the events say %+v; found: %+v", want[id], got)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		if _, there := want[id]; !there {
			problem("%+v is there, and no event says so", found[id])
		}
	}
}

// firstProblems joins the first of many problems, for people to read.
func firstProblems(problems []string) string {
	const limit = 30
	if more := len(problems) - limit; more > 0 {
		problems = append(problems[:limit:limit], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(problems, "\n")
}
