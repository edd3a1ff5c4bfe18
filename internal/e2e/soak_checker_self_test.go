package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/client"
)

// historyBuilder makes up stories.
type historyBuilder struct{ soakHistory }

func (h *historyBuilder) event(what client.EventType, subject string, current, previous any) {
	encode := func(value any) json.RawMessage {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // such values always encode
		}
		return text
	}
	h.events = append(h.events, client.Event{ID: fmt.Sprint(len(h.events) + 1), Type: what, Subject: subject,
		Data: client.EventData{Current: encode(current), Previous: encode(previous)}})
}

// operation is one of a visitor who does one thing after the other.
func (h *historyBuilder) operation(key, subject string, result opResult) {
	at := time.Duration(10 * len(h.operations))
	h.operations = append(h.operations, &operation{eventKey: key, subject: subject, result: result, sent: at + 1, responded: at + 9})
}

// newValidHistory is a story in which all is well: two animals come, one is sold, comes back, and is sold again; the other goes, with its
// category; and at the end something is lost that was done, and something that was not.
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
	become := func(status client.PetStatus) {
		before := rex
		rex.Status = status
		h.event(client.EventPetUpdated, "pets/1", rex, before)
	}
	for id := int64(1); id <= 2; id++ {
		subject := fmt.Sprint("store/orders/", id)
		order := client.Order{ID: id, PetID: 1, Status: client.OrderPlaced, Reference: subject}
		h.event(client.EventOrderPlaced, subject, order, nil)
		become(client.PetPending)
		h.operation("place "+subject, subject, done)
		h.operation("place too late "+subject, "", refused)
		for _, to := range []client.OrderStatus{client.OrderApproved, client.OrderDelivered} {
			before := order
			order.Status = to
			h.event(client.EventType("order."+to), subject, order, before)
			h.operation(fmt.Sprintf("order.%s %s", to, subject), subject, done)
		}
		become(client.PetSold)
		h.orders = append(h.orders, order)
		if id == 1 {
			before := rex
			rex.Name, rex.Status = "Max", client.PetAvailable
			h.event(client.EventPetUpdated, "pets/1", rex, before)
			h.operation("rename Max", "pets/1", done)
			h.operations[len(h.operations)-1].returnsPet = 1
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

// dropEvents takes the events of a type away.
func (h *historyBuilder) dropEvents(what client.EventType) {
	h.events = slices.DeleteFunc(h.events, func(e client.Event) bool { return e.Type == what })
}

func (h *historyBuilder) find(key string) *operation {
	return h.operations[slices.IndexFunc(h.operations, func(op *operation) bool { return op.eventKey == key })]
}

// TestSoakCheckerFindsFaults proves that the check of the soak tells right stories from wrong ones.
func TestSoakCheckerFindsFaults(t *testing.T) {
	t.Parallel()
	if problems := newValidHistory().check(); len(problems) > 0 {
		t.Fatalf("it finds fault with a true story:\n%s", firstProblems(problems))
	}
	for file, want := range map[string]string{"id,name\n1,a\n3,b\n": "", "id,name\n1,a\n1,b\n": "1 comes after 1", "id,name\n2,a\n1,b\n3": "1 comes after 2",
		"id,name\n1,a\n1": ""} {
		if _, err := exportedIDs(client.CSV, []byte(file)); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q: %v", file, err)
		}
	}
	eve := client.Pet{ID: 3, Name: "Eve", CategoryID: 1}
	late := client.Order{ID: 3, PetID: 1, Status: client.OrderPlaced, Reference: "too late store/orders/1"}
	for name, test := range map[string]struct {
		found   string
		corrupt func(*historyBuilder)
	}{
		"a new animal is lost": {`"add Jim" was acknowledged as pets/3`, func(h *historyBuilder) { h.operation("add Jim", "pets/3", done) }},
		"a change is lost":     {`"rename Ben" was acknowledged as pets/1`, func(h *historyBuilder) { h.operation("rename Ben", "pets/1", done) }},
		"a removal is lost":    {`"remove pets/2" was acknowledged`, func(h *historyBuilder) { h.dropEvents(client.EventPetDeleted) }},
		"a delivery is lost": {`"order.delivered store/orders/1" was acknowledged`,
			func(h *historyBuilder) { h.dropEvents(client.EventOrderDelivered) }},
		"the wrong one was changed": {`"rename Max" was acknowledged as pets/9`,
			func(h *historyBuilder) { h.find("rename Max").subject = "pets/9" }},
		"one is added twice": {`"add Rex" happened 2 times`,
			func(h *historyBuilder) {
				h.event(client.EventPetCreated, "pets/3", client.Pet{ID: 3, Name: "Rex", CategoryID: 1}, nil)
			}},
		"an id is used again": {"adds the animal 2, which was another one before",
			func(h *historyBuilder) {
				h.event(client.EventPetCreated, "pets/2", client.Pet{ID: 2, Name: "Bob", CategoryID: 1}, nil)
			}},
		"what was refused is done": {`"place too late store/orders/1" happened 1 times`,
			func(h *historyBuilder) { h.event(client.EventOrderPlaced, "store/orders/3", late, nil) }},
		"an animal is sold that is sold": {"sells {ID:1 Name:Max CategoryID:1 Status:sold",
			func(h *historyBuilder) { h.event(client.EventOrderPlaced, "store/orders/3", late, nil) }},
		"nobody asked": {`"add Eve" happened as event 18, and nobody asked for it`,
			func(h *historyBuilder) { h.event(client.EventPetCreated, "pets/3", eve, nil) }},
		"the feed goes back": {"the event 1 comes after 17", func(h *historyBuilder) { h.events = append(h.events[1:], h.events[0]) }},
		"the feed is not in the order of time": {`"add Tom" was acknowledged before "name cats" was sent`,
			func(h *historyBuilder) { h.find("add Tom").responded = 1 }},
		"sold twice": {"the animal 1 was sold 2 times, and came back 0 times",
			func(h *historyBuilder) { h.find("rename Max").returnsPet = 0 }},
		"an animal is not there": {"found: {ID:0", func(h *historyBuilder) { h.pets = nil }},
		"an animal has no event": {"Name:Eve CategoryID:1 Status: ETag:} is there, and no event",
			func(h *historyBuilder) { h.pets = append(h.pets, eve) }},
		"an animal is not as told": {"found: {ID:1 Name:Max CategoryID:1 Status:available",
			func(h *historyBuilder) { h.pets[0].Status = client.PetAvailable }},
		"an animal is listed twice": {"is listed twice", func(h *historyBuilder) { h.pets = append(h.pets, h.pets[0]) }},
		"an order is not there":     {"found: {ID:0 PetID:0", func(h *historyBuilder) { h.orders = h.orders[:1] }},
		"the inventory is wrong":    {"the inventory is {Available:1", func(h *historyBuilder) { h.inventory.Available = 1 }},
		"a category is not there":   {"of the category 1, which is not there", func(h *historyBuilder) { h.dropEvents(client.EventCategoryCreated) }},
		"a category is needed":      {"removes the category 2, which 1 animals have", func(h *historyBuilder) { h.dropEvents(client.EventPetDeleted) }},
		"half an import": {`of the 2 animals of "b", 1 are there`,
			func(h *historyBuilder) { h.find("add Tom").batch, h.find("add Bob").batch = "b", "b" }},
		"an export lacks one": {`"add Rex" was acknowledged after 9ns, and is not in the export`,
			func(h *historyBuilder) { h.exports = []exportedPets{{begun: 1000}} }},
		"half an order":       {"should have become", func(h *historyBuilder) { h.dropEvents(client.EventPetUpdated) }},
		"the past is another": {"says that", func(h *historyBuilder) { h.events[5].Data.Previous = h.events[3].Data.Current }},
	} {
		t.Run(name, func(t *testing.T) {
			h := newValidHistory()
			test.corrupt(h)
			if problems := h.check(); !strings.Contains(strings.Join(problems, "\n"), test.found) {
				t.Errorf("it finds only:\n%s", firstProblems(problems))
			}
		})
	}
}
