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

func (a testResponse) events(t *testing.T) []wireEvent {
	t.Helper()
	var events []wireEvent
	if err := json.Unmarshal(a.body, &events); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	return events
}

// since reads all pages of the event feed, starting at the given path.
func (s *testShop) since(t *testing.T, path string) (events []wireEvent) {
	t.Helper()
	for path != "" {
		page := s.do("GET", path, "")
		page.want(t, 200, "")
		events = append(events, page.events(t)...)
		path = page.link("next")
	}
	return events
}

func TestEventsAreListedAndFiltered(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("GET", "/v1/events", "").want(t, 200, "[]")
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`) // causes events 1 and 2
	s.add(`{"name":"Mia","categoryId":1}`)                      // causes event 3
	s.do("POST", "/v1/store/orders", `{"petId":1}`)             // causes events 4 and 5
	s.do("DELETE", "/v1/pets/2", "")                            // causes event 6
	s.do("PUT", "/v1/categories/-9", `{"name":"Cats & dogs"}`)  // causes event 7
	for query, want := range map[string]string{
		"": "1 2 3 4 5 6 7", "limit=100": "1 2 3 4 5 6 7", "limit=2": "1 2 3 4 5 6 7", "limit=1": "1 2 3 4 5 6 7", "limit=7": "1 2 3 4 5 6 7",
		"after=0": "1 2 3 4 5 6 7", "after=5": "6 7", "after=5&limit=1": "6 7", "after=7": "", "after=8": "", "after=999999999999999999": "",
		"after=000000000000000006": "7", "after=05": "6 7",
		"type=pet.created": "2 3", "type=pet.created&limit=1": "2 3", "type=pet.deleted&type=pet.created": "2 3 6", "type=key.created": "",
		"subject=pets/1": "2 5", "subject=pets%2F1&type=pet.updated": "5", "subject=store/orders/1": "4", "subject=categories/-9": "7",
		"subject=pets": "", "subject=PETS/1": "", "subject=pets/1&after=2&limit=1": "5", "subject=%F0%9F%90%A2": "", "unknown=x": "1 2 3 4 5 6 7",
	} {
		s.wantPages(t, "/v1/events?"+query, want)
	}
	for _, query := range []string{
		"after=", "after=x", "after=-1", "after=%2B1", "after=1.0", "after=1%20", "after=1234567890123456789", "after=1&after=1", "after=%D9%A1",
		"limit=0", "limit=101", "limit=%zz", "type=", "type=pet", "type=Pet.Created", "type=pet.created,pet.updated", "type=webhook.test",
		"type=pet.created&type=pet.created", "subject=", "subject=%20", "subject=a%00", "subject=a&subject=b", "subject=" + strings.Repeat("a", 201),
	} {
		s.do("GET", "/v1/events?"+query, "").wantError(t, 400, shop.InvalidParameter)
	}
	many := "type=" + strings.Join(strings.Fields(strings.Repeat("pet.created ", 40000)), "&type=")
	// Repeated types are refused. Otherwise a request could have more types than a database query can take.
	s.do("GET", "/v1/events?"+many, "").wantError(t, 400, shop.InvalidParameter)
}

// A page of events links to the next page and has an entity tag.
func TestEventPagesHaveLinksAndTags(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *Config) { c.PublicURL = "https://pets.example.com/shop/v1" })
	for range 3 {
		s.add(`{"name":"Rex","categoryId":1}`)
	}
	page := s.do("GET", "/v1/events?limit=1&type=pet.created&type=pet.updated&subject=pets/1&after=1", "")
	const first = "https://pets.example.com/shop/v1/events?limit=1&subject=pets%2F1&type=pet.created&type=pet.updated"
	if page.link("next") != "" || page.link("first") != first {
		t.Errorf("Link is %s", page.Header.Get("Link"))
	}
	page = s.do("GET", "/v1/events?limit=2&type=pet.created", "")
	if want := "https://pets.example.com/shop/v1/events?after=3&limit=2&type=pet.created"; page.link("next") != want {
		t.Errorf("Link is %s", page.Header.Get("Link"))
	}
	if vary := page.Header.Get("Vary"); !strings.Contains(vary, "Accept") {
		t.Errorf("Vary is %q", vary)
	}
	tag := page.Header.Get("ETag")
	s.do("GET", "/v1/events?limit=2&type=pet.created", "", "If-None-Match: "+tag).want(t, 304, "")
	last := s.do("GET", "/v1/events", "")
	s.add(`{"name":"Rex","categoryId":1}`)
	s.do("GET", "/v1/events", "", "If-None-Match: "+last.Header.Get("ETag")).want(t, 200, "")
	s.do("HEAD", "/v1/events", "").want(t, 200, "")
}

// An event contains its source and time, and the resource as it appears in the API.
func TestEventShowsTheResource(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.api.Service = s.node(shop.Options{Source: "https://pets.example.com/v1"})
	pet := s.do("POST", "/v1/pets", `{"name":"<b> & \u2028 \"🐢\" ","categoryId":-9223372036854775808}`)
	event := s.do("GET", "/v1/events?type=pet.created", "").events(t)[0]
	if event.Source != "https://pets.example.com/v1" || time.Since(event.Time) > time.Minute || event.Time.Location() != time.UTC {
		t.Errorf("the event is %+v", event)
	}
	if got, want := string(event.Data.Current), strings.TrimSpace(string(pet.body)); got != want {
		t.Errorf("it shows %s, want %s", got, want)
	}
	if string(event.Data.Previous) != "null" {
		t.Errorf("before, it was %s", event.Data.Previous)
	}
}
