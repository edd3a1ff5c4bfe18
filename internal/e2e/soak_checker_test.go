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

// verdict is what came of a deed.
type verdict string

const (
	done    verdict = "done"    // acknowledged
	refused verdict = "refused" // and so not done
	lost    verdict = "lost"    // it may have been done, once, or not
)

// deed is one change that a visitor tried to make, however often it had to be sent.
type deed struct {
	mark           string // what its event is known by, see markOf
	subject        string // of the event, as far as the answer told
	sent, answered time.Duration
	verdict        verdict
	comesBack      int64  // the animal that can be sold again by it
	once           bool   // it is not asked for again, because it might happen again
	batch          string // all deeds of one are done, or none
}

// story is all that there is to know when everything has come to rest.
type story struct {
	deeds      []*deed
	events     []client.Event
	pets       []client.Pet
	orders     []client.Order
	categories []client.Category
	inventory  client.Inventory
	exports    []export
}

// markOf says by what a deed knows its event. Names and references are used once only. What follows from something else, such as
// that of an animal from that of its order, has no mark.
func markOf(e client.Event) (string, error) {
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
func (s story) check() (problems []string) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	at := map[string][]int{} // where the events of each mark stand in the feed
	for i, e := range s.events {
		mark, err := markOf(e)
		if err != nil {
			problem("the event %s: %v", e.ID, err)
		} else if mark != "" {
			at[mark] = append(at[mark], i)
		}
		if i > 0 && !comesAfter(e.ID, s.events[i-1].ID) {
			problem("the event %s comes after %s", e.ID, s.events[i-1].ID)
		}
	}
	s.checkDeeds(at, problem)
	s.checkOrderOfTime(at, problem)
	s.checkSales(problem)
	s.checkFiles(at, problem)
	replay := newReplay(problem)
	for _, e := range s.events {
		replay.take(e)
	}
	s.compare(replay, problem)
	return problems
}

func comesAfter(id, before string) bool {
	return len(id) > len(before) || len(id) == len(before) && id > before
}

// checkDeeds expects the event of every deed that was acknowledged, none of what was refused, none twice, and none that nobody
// asked for.
func (s story) checkDeeds(at map[string][]int, problem func(string, ...any)) {
	type count struct{ done, lost int }
	counts := map[string]count{}
	for _, d := range s.deeds {
		c := counts[d.mark]
		switch d.verdict {
		case done:
			c.done++
			if !slices.ContainsFunc(at[d.mark], func(i int) bool { return d.subject == "" || s.events[i].Subject == d.subject }) {
				problem("%q was acknowledged as %s, and no event tells of it", d.mark, d.subject)
			}
		case lost:
			c.lost++
		}
		counts[d.mark] = c
	}
	for mark, c := range counts {
		if n := len(at[mark]); n < c.done || n > c.done+c.lost {
			problem("%q happened %d times; it was acknowledged %d times, and %d times there was no answer", mark, n, c.done, c.lost)
		}
	}
	for mark, events := range at {
		if _, asked := counts[mark]; !asked {
			problem("%q happened as event %s, and nobody asked for it", mark, s.events[events[0]].ID)
		}
	}
}

// moment is a deed with its place in an order that must be that of time, too.
type moment struct {
	place int64
	*deed
}

// checkOrderOfTime expects what was acknowledged before something else was asked for to stand before it in the feed, and new
// animals to have larger ids than those before them.
func (s story) checkOrderOfTime(at map[string][]int, problem func(string, ...any)) {
	times := map[string]int{}
	for _, d := range s.deeds {
		times[d.mark]++
	}
	var feed, ids []moment
	for _, d := range s.deeds {
		if events := at[d.mark]; len(events) == 1 && times[d.mark] == 1 {
			feed = append(feed, moment{int64(events[0]), d})
			if e := s.events[events[0]]; e.Type == client.EventPetCreated {
				pet, _, _ := e.Pet() // markOf has told of an error
				ids = append(ids, moment{pet.ID, d})
			}
		}
	}
	inOrder(feed, "feed", problem)
	inOrder(ids, "order of ids", problem)
}

func inOrder(moments []moment, where string, problem func(string, ...any)) {
	slices.SortFunc(moments, func(a, b moment) int { return cmp.Compare(a.place, b.place) })
	latest := &deed{}
	for _, m := range moments {
		if m.verdict == done && m.answered < latest.sent {
			problem("%q was acknowledged before %q was sent, and stands after it in the %s", m.mark, latest.mark, where)
		}
		if m.sent > latest.sent {
			latest = m.deed
		}
	}
}

// checkSales looks at the orders alone: an animal is sold once, and once more each time that somebody took it back.
func (s story) checkSales(problem func(string, ...any)) {
	sold, returns := map[int64]int{}, map[int64]int{}
	for _, d := range s.deeds {
		if d.comesBack != 0 && d.verdict != refused {
			returns[d.comesBack]++
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

// compare expects to find what the events say.
func (s story) compare(r *replay, problem func(string, ...any)) {
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
	differ(problem, r.pets, pets)
	differ(problem, r.orders, orders)
	differ(problem, r.categories, categories)
	if s.inventory != counted {
		problem("the inventory is %+v, the animals are %+v", s.inventory, counted)
	}
	for id, hold := range r.expected {
		problem("the animal %d should have become %q with its order", id, hold)
	}
}

func differ[T comparable](problem func(string, ...any), told, found map[int64]T) {
	for _, id := range slices.Sorted(maps.Keys(told)) {
		if is, there := found[id]; !there || is != told[id] {
			problem("the events say %+v; found: %+v", told[id], is)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		if _, there := told[id]; !there {
			problem("%+v is there, and no event says so", found[id])
		}
	}
}

// few joins the first of many problems, for people to read.
func few(problems []string) string {
	const most = 30
	if more := len(problems) - most; more > 0 {
		problems = append(problems[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(problems, "\n")
}
