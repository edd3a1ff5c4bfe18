package workload

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
	client          int    // the ID of the client
	eventKey        string // identifies the operation's event (see checker.at)
	subject         string // the subject of the operation's event, if the response contained it
	sent, responded time.Duration
	result          opResult
	noRetry         bool   // if true, a retry would be unsafe, so there is none
	batch           string // identifies a batch; either all operations in a batch take effect or none
}

// history contains the operations that clients performed and the final state that the service reports after
// the load has ended.
type history struct {
	operations []*operation
	events     []client.Event
	pets       []client.Pet
	orders     []client.Order
	categories []client.Category
	inventory  client.Inventory
}

// checker compares a history with the state of the store that it rebuilds from the events.
type checker struct {
	history
	replay
	// at maps each event key to the indexes of the events that have it. The key connects an event with the
	// operation that caused it. It is unique because clients use each name and each reference only once. An
	// event that only follows from another event, such as the change to an animal's status after an order, has
	// no key.
	at       map[string][]int
	problems []string
}

func (c *checker) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// check returns a description of every contradiction in the history.
func (h history) check() []string {
	c := &checker{history: h, at: map[string][]int{}}
	c.replay = newReplay(c.problem)
	for i, e := range c.events {
		if i > 0 && !comesAfter(e.ID, c.events[i-1].ID) {
			c.problem("event %s comes after %s", e.ID, c.events[i-1].ID)
		}
		key, err := c.apply(e)
		if err != nil {
			c.problem("event %s: %v", e.ID, err)
		} else if key != "" {
			c.at[key] = append(c.at[key], i)
		}
	}
	c.checkOperations()
	c.checkRealTimeOrder()
	compareState(c, c.replay.pets, c.history.pets, petID)
	compareState(c, c.replay.orders, c.history.orders, orderID)
	compareState(c, c.replay.categories, c.history.categories, categoryID)
	counted := map[client.PetStatus]int64{}
	for _, p := range c.history.pets {
		counted[p.Status]++
	}
	want := client.Inventory{Available: counted[client.PetAvailable], Pending: counted[client.PetPending], Sold: counted[client.PetSold],
		Unspecified: counted[""]}
	if c.inventory != want {
		c.problem("the inventory is %+v, but the list contains %+v", c.inventory, want)
	}
	for id, status := range c.dueStatus {
		c.problem("animal %d should have become %q with its order", id, status)
	}
	return c.problems
}

func comesAfter(id, before string) bool {
	return len(id) > len(before) || len(id) == len(before) && id > before
}

// checkOperations checks that every acknowledged operation has exactly one event, that no refused operation
// has an event, that every event with a key belongs to an operation, and that batches are complete.
func (c *checker) checkOperations() {
	acknowledged, unknown := map[string]int{}, map[string]int{}
	size, found := map[string]int{}, map[string]int{}
	for _, op := range c.operations {
		acknowledged[op.eventKey] += 0 // add the key even if the operation was refused
		switch op.result {
		case done:
			acknowledged[op.eventKey]++
			if !slices.ContainsFunc(c.at[op.eventKey], func(i int) bool { return op.subject == "" || c.events[i].Subject == op.subject }) {
				c.problem("%q was acknowledged as %s, but has no event", op.eventKey, op.subject)
			}
		case lost:
			unknown[op.eventKey]++
		}
		if op.batch != "" {
			size[op.batch]++
			found[op.batch] += min(1, len(c.at[op.eventKey]))
		}
	}
	for key, sure := range acknowledged {
		if n := len(c.at[key]); n < sure || n > sure+unknown[key] {
			c.problem("%q happened %d times; it was acknowledged %d times, and got no response %d times", key, n, sure, unknown[key])
		}
	}
	for key, events := range c.at {
		if _, sent := acknowledged[key]; !sent {
			c.problem("%q happened as event %s, but no client sent it", key, c.events[events[0]].ID)
		}
	}
	for batch, n := range found {
		if n != 0 && n != size[batch] {
			c.problem("%d of the %d animals of import %q exist", n, size[batch], batch)
		}
	}
}

// positioned is an operation with its position in a sequence. The order of the sequence must agree with real time.
type positioned struct {
	position int64
	*operation
}

// checkRealTimeOrder considers pairs of operations in which the first was acknowledged before the second was
// sent. The first operation must come first in the feed. If both operations create animals, the first must
// also have the smaller ID.
func (c *checker) checkRealTimeOrder() {
	times := map[string]int{}
	for _, op := range c.operations {
		times[op.eventKey]++
	}
	orders := map[string][]positioned{}
	for _, op := range c.operations {
		if events := c.at[op.eventKey]; len(events) == 1 && times[op.eventKey] == 1 {
			orders["feed"] = append(orders["feed"], positioned{int64(events[0]), op})
			if e := c.events[events[0]]; e.Type == client.EventPetCreated {
				pet, _, _ := e.Pet() // an error has already been reported by check
				orders["order of IDs"] = append(orders["order of IDs"], positioned{pet.ID, op})
			}
		}
	}
	for where, operations := range orders {
		slices.SortFunc(operations, func(a, b positioned) int { return cmp.Compare(a.position, b.position) })
		latest := &operation{}
		for _, m := range operations {
			if m.result == done && m.responded < latest.sent {
				c.problem("%q was acknowledged before %q was sent, but follows it in the %s", m.eventKey, latest.eventKey, where)
			}
			if m.sent > latest.sent {
				latest = m.operation
			}
		}
	}
}

// compareState compares a list with the state that results from replaying the events.
func compareState[T comparable](c *checker, want map[int64]T, list []T, id func(T) int64) {
	found := map[int64]T{}
	for _, got := range list {
		if _, twice := found[id(got)]; twice {
			c.problem("%+v is listed twice", got)
		}
		found[id(got)] = got
		if _, there := want[id(got)]; !there {
			c.problem("%+v exists, but has no event", got)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got := found[key]; got != want[key] {
			c.problem("got %+v, want %+v according to the events", got, want[key])
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
