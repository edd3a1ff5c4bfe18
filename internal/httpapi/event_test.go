package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// wireEvent is an event as it appears in the API.
type wireEvent struct {
	ID      string
	Source  string
	Type    shop.EventType
	Subject string
	Time    time.Time
	Actor   string
	Data    struct{ Current, Previous json.RawMessage }
}

func TestEventsAreListedAndFiltered(t *testing.T) {
	s := parallelShop(t)
	s.do("GET", "/v1/events", "").want(t, 200, "[]")
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`) // causes events 1 and 2
	s.add(`{"name":"Mia","categoryId":1}`)                      // causes event 3
	s.do("POST", "/v1/store/orders", `{"petId":1}`)             // causes events 4 and 5
	s.do("DELETE", "/v1/pets/2", "")                            // causes event 6
	s.do("PUT", "/v1/categories/-9", `{"name":"Cats & dogs"}`)  // causes event 7
	const all = "1 2 3 4 5 6 7"
	for query, want := range map[string]string{
		"": all, "limit=100": all, "limit=2": all, "limit=1": all, "limit=7": all, "unknown=x": all, "after=0": all,
		"after=5": "6 7", "after=5&limit=1": "6 7", "after=7": "", "after=999999999999999999": "", "after=000000000000000006": "7",
		"type=pet.created&limit=1": "2 3", "type=pet.deleted&type=pet.created": "2 3 6", "type=key.created": "",
		"subject=pets/1": "2 5", "subject=pets%2F1&type=pet.updated": "5", "subject=store/orders/1": "4", "subject=categories/-9": "7",
		"subject=pets": "", "subject=PETS/1": "", "subject=pets/1&after=1&limit=1": "2 5",
	} {
		s.wantPages(t, "/v1/events?"+query, want)
	}
	page := s.do("GET", "/v1/events?limit=1&type=pet.created&type=pet.deleted&subject=pets/2&after=1", "")
	page.wantHeaders(t, "Vary: Accept")
	if want := s.url + "/v1/events?limit=1&subject=pets%2F2&type=pet.created&type=pet.deleted"; page.link("first") != want {
		t.Errorf("the first page is %s, want %s", page.link("first"), want)
	}
	for _, query := range []string{ // FuzzLastEventID and FuzzEventList try more of them
		"after=", "after=-1", "after=1234567890123456789", "after=1&after=1", "limit=0", "limit=101", "limit=%zz",
		"type=", "type=Pet.Created", "type=pet.created,pet.updated", "type=webhook.test", "subject=a&subject=b", "subject=a%00",
		strings.Repeat("type=pet.created&", 40000), // otherwise there could be more types than a database query can take
	} {
		s.do("GET", "/v1/events?"+query, "").wantError(t, 400, shop.InvalidParameter)
	}
}

// An event contains its source and time, and the resource as it appears in the API.
func TestEventShowsTheResource(t *testing.T) {
	s := parallelShop(t)
	s.api.Service = s.node(shop.Options{Source: "https://pets.example.com/v1"})
	pet := s.do("POST", "/v1/pets", `{"name":"<b> & \u2028 \"🐢\" ","categoryId":-9223372036854775808}`)
	event := parsed[[]wireEvent](t, s.do("GET", "/v1/events?type=pet.created", ""))[0]
	if event.Source != "https://pets.example.com/v1" || time.Since(event.Time) > time.Minute || event.Time.Location() != time.UTC ||
		string(event.Data.Current)+"\n" != string(pet.body) || string(event.Data.Previous) != "null" {
		t.Errorf("the event is %+v, want a recent one that shows %s", event, pet.body)
	}
}
