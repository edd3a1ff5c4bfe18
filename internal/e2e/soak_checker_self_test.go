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

// teller makes up stories.
type teller struct{ story }

func (t *teller) event(what client.EventType, subject string, current, previous any) {
	encode := func(value any) json.RawMessage {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // such values always encode
		}
		return text
	}
	t.events = append(t.events, client.Event{ID: fmt.Sprint(len(t.events) + 1), Type: what, Subject: subject,
		Data: client.EventData{Current: encode(current), Previous: encode(previous)}})
}

// deed is one of a visitor who does one thing after the other.
func (t *teller) deed(mark, subject string, v verdict) {
	at := time.Duration(10 * len(t.deeds))
	t.deeds = append(t.deeds, &deed{mark: mark, subject: subject, verdict: v, sent: at + 1, answered: at + 9})
}

// tell is a story in which all is well: two animals come, one is sold, comes back, and is sold again; the other goes, with its
// category; and at the end something is lost that was done, and something that was not.
func tell() *teller {
	t := &teller{}
	one, two := client.Category{ID: 1}, client.Category{ID: 2, Name: "cats"}
	rex := client.Pet{ID: 1, Name: "Rex", CategoryID: 1, Status: client.PetAvailable}
	tom := client.Pet{ID: 2, Name: "Tom", CategoryID: 2}
	t.event(client.EventCategoryCreated, "categories/1", one, nil)
	t.event(client.EventPetCreated, "pets/1", rex, nil)
	t.deed("add Rex", "pets/1", done)
	t.event(client.EventCategoryCreated, "categories/2", two, nil)
	t.deed("name cats", "categories/2", done)
	t.event(client.EventPetCreated, "pets/2", tom, nil)
	t.deed("add Tom", "pets/2", done)
	become := func(status client.PetStatus) {
		before := rex
		rex.Status = status
		t.event(client.EventPetUpdated, "pets/1", rex, before)
	}
	for id := int64(1); id <= 2; id++ {
		subject := fmt.Sprint("store/orders/", id)
		order := client.Order{ID: id, PetID: 1, Status: client.OrderPlaced, Reference: subject}
		t.event(client.EventOrderPlaced, subject, order, nil)
		become(client.PetPending)
		t.deed("place "+subject, subject, done)
		t.deed("place too late "+subject, "", refused)
		for _, to := range []client.OrderStatus{client.OrderApproved, client.OrderDelivered} {
			before := order
			order.Status = to
			t.event(client.EventType("order."+to), subject, order, before)
			t.deed(fmt.Sprintf("order.%s %s", to, subject), subject, done)
		}
		become(client.PetSold)
		t.orders = append(t.orders, order)
		if id == 1 {
			before := rex
			rex.Name, rex.Status = "Max", client.PetAvailable
			t.event(client.EventPetUpdated, "pets/1", rex, before)
			t.deed("rename Max", "pets/1", done)
			t.deeds[len(t.deeds)-1].comesBack = 1
		}
	}
	t.event(client.EventPetDeleted, "pets/2", nil, tom)
	t.deed("remove pets/2", "pets/2", done)
	t.event(client.EventCategoryDeleted, "categories/2", nil, two)
	t.deed("remove categories/2", "categories/2", lost)
	t.deed("add Bob", "", lost)
	t.pets, t.categories, t.inventory = []client.Pet{rex}, []client.Category{one}, client.Inventory{Sold: 1}
	return t
}

// drop takes the events of a type away.
func (t *teller) drop(what client.EventType) {
	t.events = slices.DeleteFunc(t.events, func(e client.Event) bool { return e.Type == what })
}

func (t *teller) find(mark string) *deed {
	return t.deeds[slices.IndexFunc(t.deeds, func(d *deed) bool { return d.mark == mark })]
}

// TestSoakCheckerFindsFaults proves that the check of the soak tells right stories from wrong ones.
func TestSoakCheckerFindsFaults(t *testing.T) {
	t.Parallel()
	if problems := tell().check(); len(problems) > 0 {
		t.Fatalf("it finds fault with a true story:\n%s", few(problems))
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
		found string
		spoil func(*teller)
	}{
		"a new animal is lost": {`"add Jim" was acknowledged as pets/3`, func(s *teller) { s.deed("add Jim", "pets/3", done) }},
		"a change is lost":     {`"rename Ben" was acknowledged as pets/1`, func(s *teller) { s.deed("rename Ben", "pets/1", done) }},
		"a removal is lost":    {`"remove pets/2" was acknowledged`, func(s *teller) { s.drop(client.EventPetDeleted) }},
		"a delivery is lost": {`"order.delivered store/orders/1" was acknowledged`,
			func(s *teller) { s.drop(client.EventOrderDelivered) }},
		"the wrong one was changed": {`"rename Max" was acknowledged as pets/9`,
			func(s *teller) { s.find("rename Max").subject = "pets/9" }},
		"one is added twice": {`"add Rex" happened 2 times`,
			func(s *teller) {
				s.event(client.EventPetCreated, "pets/3", client.Pet{ID: 3, Name: "Rex", CategoryID: 1}, nil)
			}},
		"an id is used again": {"adds the animal 2, which was another one before",
			func(s *teller) {
				s.event(client.EventPetCreated, "pets/2", client.Pet{ID: 2, Name: "Bob", CategoryID: 1}, nil)
			}},
		"what was refused is done": {`"place too late store/orders/1" happened 1 times`,
			func(s *teller) { s.event(client.EventOrderPlaced, "store/orders/3", late, nil) }},
		"an animal is sold that is sold": {"sells {ID:1 Name:Max CategoryID:1 Status:sold",
			func(s *teller) { s.event(client.EventOrderPlaced, "store/orders/3", late, nil) }},
		"nobody asked": {`"add Eve" happened as event 18, and nobody asked for it`,
			func(s *teller) { s.event(client.EventPetCreated, "pets/3", eve, nil) }},
		"the feed goes back": {"the event 1 comes after 17", func(s *teller) { s.events = append(s.events[1:], s.events[0]) }},
		"the feed is not in the order of time": {`"add Tom" was acknowledged before "name cats" was sent`,
			func(s *teller) { s.find("add Tom").answered = 1 }},
		"sold twice": {"the animal 1 was sold 2 times, and came back 0 times",
			func(s *teller) { s.find("rename Max").comesBack = 0 }},
		"an animal is not there": {"found: {ID:0", func(s *teller) { s.pets = nil }},
		"an animal has no event": {"Name:Eve CategoryID:1 Status: ETag:} is there, and no event",
			func(s *teller) { s.pets = append(s.pets, eve) }},
		"an animal is not as told": {"found: {ID:1 Name:Max CategoryID:1 Status:available",
			func(s *teller) { s.pets[0].Status = client.PetAvailable }},
		"an animal is listed twice": {"is listed twice", func(s *teller) { s.pets = append(s.pets, s.pets[0]) }},
		"an order is not there":     {"found: {ID:0 PetID:0", func(s *teller) { s.orders = s.orders[:1] }},
		"the inventory is wrong":    {"the inventory is {Available:1", func(s *teller) { s.inventory.Available = 1 }},
		"a category is not there":   {"of the category 1, which is not there", func(s *teller) { s.drop(client.EventCategoryCreated) }},
		"a category is needed":      {"removes the category 2, which 1 animals have", func(s *teller) { s.drop(client.EventPetDeleted) }},
		"half an import": {`of the 2 animals of "b", 1 are there`,
			func(s *teller) { s.find("add Tom").batch, s.find("add Bob").batch = "b", "b" }},
		"an export lacks one": {`"add Rex" was acknowledged after 9ns, and is not in the export`,
			func(s *teller) { s.exports = []export{{begun: 1000}} }},
		"half an order":       {"should have become", func(s *teller) { s.drop(client.EventPetUpdated) }},
		"the past is another": {"says that", func(s *teller) { s.events[5].Data.Previous = s.events[3].Data.Current }},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell()
			test.spoil(s)
			if problems := s.check(); !strings.Contains(strings.Join(problems, "\n"), test.found) {
				t.Errorf("it finds only:\n%s", few(problems))
			}
		})
	}
}
