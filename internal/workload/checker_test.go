package workload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/client"
)

// historyBuilder builds histories for testing the checker.
type historyBuilder struct{ history }

func (h *historyBuilder) event(what client.EventType, subject string, current, previous any) {
	encode := func(value any) json.RawMessage {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // cannot happen because these types can always be encoded
		}
		return text
	}
	h.events = append(h.events, client.Event{ID: fmt.Sprint(len(h.events) + 1), Type: what, Subject: subject,
		Data: client.EventData{Current: encode(current), Previous: encode(previous)}})
}

// add adds the event that creates an animal.
func (h *historyBuilder) add(id int64, name string) {
	h.event(client.EventPetCreated, fmt.Sprint("pets/", id), client.Pet{ID: id, Name: name, CategoryID: 1}, nil)
}

// operation adds an operation that is sent after the response to the previous operation has arrived.
func (h *historyBuilder) operation(key, subject string, result opResult) {
	at := time.Duration(10 * len(h.operations))
	h.operations = append(h.operations, &operation{eventKey: key, subject: subject, result: result, sent: at + 1, responded: at + 9})
}

// newValidHistory returns a history that the checker must accept. Two animals are added. One is sold,
// returned and sold again, and the other is removed together with its category. The last two operations got
// no response, and only one of them took effect.
func newValidHistory() *historyBuilder {
	h := &historyBuilder{}
	one, two := client.Category{ID: 1}, client.Category{ID: 2, Name: "cats"}
	rex := client.Pet{ID: 1, Name: "Rex", CategoryID: 1, Status: client.PetAvailable}
	tom := client.Pet{ID: 2, Name: "Tom", CategoryID: 2}
	h.event(client.EventCategoryCreated, "categories/1", one, nil)
	h.event(client.EventPetCreated, "pets/1", rex, nil)
	h.operation("add Rex", "pets/1", done)
	h.event(client.EventCategoryCreated, "categories/2", two, nil)
	h.operation("name cats", "categories/2", done)
	h.event(client.EventPetCreated, "pets/2", tom, nil)
	h.operation("add Tom", "pets/2", done)
	before := rex
	become := func(status client.PetStatus) {
		rex.Status = status
		h.event(client.EventPetUpdated, "pets/1", rex, before)
		before = rex
	}
	for id := int64(1); id <= 2; id++ {
		subject := fmt.Sprint("store/orders/", id)
		order := client.Order{ID: id, PetID: 1, Status: client.OrderPlaced, Reference: subject}
		h.event(client.EventOrderPlaced, subject, order, nil)
		become(client.PetPending)
		h.operation("place "+subject, subject, done)
		h.operation("place too late "+subject, "", refused)
		renamed := order
		renamed.Reference = "changed " + subject
		h.event(client.EventOrderUpdated, subject, renamed, order)
		h.operation("order.updated "+renamed.Reference, subject, done)
		order = renamed
		for _, to := range []client.OrderStatus{client.OrderApproved, client.OrderDelivered} {
			previous := order
			order.Status = to
			h.event(client.EventType("order."+to), subject, order, previous)
			h.operation(fmt.Sprintf("order.%s %s", to, subject), subject, done)
		}
		become(client.PetSold)
		h.orders = append(h.orders, order)
		if id == 1 {
			rex.Name = "Max"
			become(client.PetAvailable)
			h.operation("rename Max", "pets/1", done)
		}
	}
	h.event(client.EventPetDeleted, "pets/2", nil, tom)
	h.operation("remove pets/2", "pets/2", done)
	h.event(client.EventCategoryDeleted, "categories/2", nil, two)
	h.operation("remove categories/2", "categories/2", lost)
	h.operation("add Bob", "", lost)
	h.pets, h.categories, h.inventory = []client.Pet{rex}, []client.Category{one}, client.Inventory{Sold: 1}
	return h
}

// dropEvents removes all events of the given type.
func (h *historyBuilder) dropEvents(what client.EventType) {
	h.events = slices.DeleteFunc(h.events, func(e client.Event) bool { return e.Type == what })
}

func (h *historyBuilder) find(key string) *operation {
	return h.operations[slices.IndexFunc(h.operations, func(op *operation) bool { return op.eventKey == key })]
}

// TestCheckerFindsFaults checks that the checker accepts a valid history and reports the
// fault in each corrupted history.
func TestCheckerFindsFaults(t *testing.T) {
	t.Parallel()
	if problems := newValidHistory().check(); len(problems) > 0 {
		t.Fatalf("the checker reports problems in a valid history:\n%s", firstProblems(problems))
	}
	late := client.Order{ID: 3, PetID: 1, Status: client.OrderPlaced, Reference: "too late store/orders/1"}
	for name, test := range map[string]struct {
		found   string
		corrupt func(h *historyBuilder)
	}{
		"a new animal is lost":      {`"add Jim" was acknowledged as pets/3`, func(h *historyBuilder) { h.operation("add Jim", "pets/3", done) }},
		"a removal is lost":         {`"remove pets/2" was acknowledged`, func(h *historyBuilder) { h.dropEvents(client.EventPetDeleted) }},
		"another animal is changed": {`"rename Max" was acknowledged as pets/9`, func(h *historyBuilder) { h.find("rename Max").subject = "pets/9" }},
		"an animal is added twice":  {`"add Rex" happened 2 times`, func(h *historyBuilder) { h.add(3, "Rex") }},
		"an id is used again":       {"adds animal 2, an ID that was used before", func(h *historyBuilder) { h.add(2, "Bob") }},
		"no client sent it":         {`"add Eve" happened as event 20, but no client sent it`, func(h *historyBuilder) { h.add(3, "Eve") }},
		"a refused operation happens": {`"place too late store/orders/1" happened 1 times`,
			func(h *historyBuilder) { h.event(client.EventOrderPlaced, "store/orders/3", late, nil) }},
		"a closed order is changed": {"changes order", func(h *historyBuilder) {
			changed := h.orders[1]
			changed.Reference = "too late store/orders/1"
			h.event(client.EventOrderUpdated, "store/orders/2", changed, h.orders[1])
		}},
		"a sold animal is sold": {"sells {ID:1 Name:Max CategoryID:1 Status:sold",
			func(h *historyBuilder) { h.event(client.EventOrderPlaced, "store/orders/3", late, nil) }},
		"the feed is not sorted by ID": {"event 1 comes after 19", func(h *historyBuilder) { h.events = append(h.events[1:], h.events[0]) }},
		"the feed contradicts real time": {`"add Tom" was acknowledged before "name cats" was sent`,
			func(h *historyBuilder) { h.find("add Tom").responded = 1 }},
		"an animal is missing": {"got {ID:0", func(h *historyBuilder) { h.pets = nil }},
		"an animal has no event": {"Name:Eve CategoryID:0 Status: ETag:} exists, but has no event",
			func(h *historyBuilder) { h.pets = append(h.pets, client.Pet{ID: 3, Name: "Eve"}) }},
		"an animal differs from its events": {"got {ID:1 Name:Max CategoryID:1 Status:available",
			func(h *historyBuilder) { h.pets[0].Status = client.PetAvailable }},
		"an animal is listed twice":    {"is listed twice", func(h *historyBuilder) { h.pets = append(h.pets, h.pets[0]) }},
		"an order is missing":          {"got {ID:0 PetID:0", func(h *historyBuilder) { h.orders = h.orders[:1] }},
		"the inventory is wrong":       {"the inventory is {Available:1", func(h *historyBuilder) { h.inventory.Available = 1 }},
		"a category is missing":        {"in category 1, which does not exist", func(h *historyBuilder) { h.dropEvents(client.EventCategoryCreated) }},
		"a category in use is removed": {"removes category 2, which has 1 animals", func(h *historyBuilder) { h.dropEvents(client.EventPetDeleted) }},
		"half an import": {`1 of the 2 animals of import "b" exist`,
			func(h *historyBuilder) { h.find("add Tom").batch, h.find("add Bob").batch = "b", "b" }},
		"half an order":             {"should have become", func(h *historyBuilder) { h.dropEvents(client.EventPetUpdated) }},
		"a previous state is wrong": {"states that", func(h *historyBuilder) { h.events[5].Data.Previous = h.events[3].Data.Current }},
	} {
		t.Run(name, func(t *testing.T) {
			h := newValidHistory()
			test.corrupt(h)
			if problems := h.check(); !strings.Contains(strings.Join(problems, "\n"), test.found) {
				t.Errorf("got these problems, want one with %q:\n%s", test.found, firstProblems(problems))
			}
		})
	}
}
