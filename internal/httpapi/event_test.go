package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// told is an event as the API shows it.
type told struct {
	ID      string
	Source  string
	Type    shop.EventType
	Subject string
	Time    time.Time
	Actor   string
	Data    struct{ Current, Previous json.RawMessage }
}

func (a answer) events(t *testing.T) []told {
	t.Helper()
	var events []told
	if err := json.Unmarshal(a.body, &events); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	return events
}

// since walks the feed from a path on, page by page.
func (s *openShop) since(t *testing.T, path string) (events []told) {
	t.Helper()
	for path != "" {
		page := s.ask("GET", path, "")
		page.want(t, 200, "")
		events = append(events, page.events(t)...)
		path = page.link("next")
	}
	return events
}

func TestListEvents(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.ask("GET", "/v1/events", "").want(t, 200, "[]")
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`) // events 1 and 2
	s.add(`{"name":"Mia","categoryId":1}`)                      // 3
	s.ask("POST", "/v1/store/orders", `{"petId":1}`)            // 4 and 5
	s.ask("DELETE", "/v1/pets/2", "")                           // 6
	s.ask("PUT", "/v1/categories/-9", `{"name":"Cats & dogs"}`) // 7
	for query, want := range map[string]string{
		"": "1 2 3 4 5 6 7", "limit=100": "1 2 3 4 5 6 7", "limit=2": "1 2 3 4 5 6 7", "limit=1": "1 2 3 4 5 6 7", "limit=7": "1 2 3 4 5 6 7",
		"after=0": "1 2 3 4 5 6 7", "after=5": "6 7", "after=5&limit=1": "6 7", "after=7": "", "after=8": "", "after=999999999999999999": "",
		"after=000000000000000006": "7", "after=05": "6 7",
		"type=pet.created": "2 3", "type=pet.created&limit=1": "2 3", "type=pet.deleted&type=pet.created": "2 3 6", "type=key.created": "",
		"subject=pets/1": "2 5", "subject=pets%2F1&type=pet.updated": "5", "subject=store/orders/1": "4", "subject=categories/-9": "7",
		"subject=pets": "", "subject=PETS/1": "", "subject=pets/1&after=2&limit=1": "5", "subject=%F0%9F%90%A2": "", "unknown=x": "1 2 3 4 5 6 7",
	} {
		var ids []string
		for _, event := range s.since(t, "/v1/events?"+query) {
			ids = append(ids, event.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: saw %s, want %s", query, got, want)
		}
	}
	for _, query := range []string{
		"after=", "after=x", "after=-1", "after=%2B1", "after=1.0", "after=1%20", "after=1234567890123456789", "after=1&after=1", "after=%D9%A1",
		"limit=0", "limit=101", "limit=%zz", "type=", "type=pet", "type=Pet.Created", "type=pet.created,pet.updated", "type=webhook.test",
		"type=pet.created&type=pet.created", "subject=", "subject=%20", "subject=a%00", "subject=a&subject=b", "subject=" + strings.Repeat("a", 201),
	} {
		s.ask("GET", "/v1/events?"+query, "").wantError(t, 400, shop.InvalidParameter)
	}
	many := "type=" + strings.Join(strings.Fields(strings.Repeat("pet.created ", 40000)), "&type=")
	s.ask("GET", "/v1/events?"+many, "").wantError(t, 400, shop.InvalidParameter) // and not more than the store can take
}

// A page says where the next one is, and can be asked for again by its tag.
func TestEventPages(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *Config) { c.PublicURL = "https://pets.example.com/shop/v1" })
	for range 3 {
		s.add(`{"name":"Rex","categoryId":1}`)
	}
	page := s.ask("GET", "/v1/events?limit=1&type=pet.created&type=pet.updated&subject=pets/1&after=1", "")
	const first = "https://pets.example.com/shop/v1/events?limit=1&subject=pets%2F1&type=pet.created&type=pet.updated"
	if page.link("next") != "" || page.link("first") != first {
		t.Errorf("Link is %s", page.Header.Get("Link"))
	}
	page = s.ask("GET", "/v1/events?limit=2&type=pet.created", "")
	if want := "https://pets.example.com/shop/v1/events?after=3&limit=2&type=pet.created"; page.link("next") != want {
		t.Errorf("Link is %s", page.Header.Get("Link"))
	}
	if vary := page.Header.Get("Vary"); !strings.Contains(vary, "Accept") {
		t.Errorf("Vary is %q", vary)
	}
	tag := page.Header.Get("ETag")
	s.ask("GET", "/v1/events?limit=2&type=pet.created", "", "If-None-Match: "+tag).want(t, 304, "")
	last := s.ask("GET", "/v1/events", "")
	s.add(`{"name":"Rex","categoryId":1}`)
	s.ask("GET", "/v1/events", "", "If-None-Match: "+last.Header.Get("ETag")).want(t, 200, "")
	s.ask("HEAD", "/v1/events", "").want(t, 200, "")
}

// An event says where and when it happened, and shows what it is about as the interface does.
func TestEventAsItIs(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.api.Service = s.open(shop.Options{Source: "https://pets.example.com/v1"})
	pet := s.ask("POST", "/v1/pets", `{"name":"<b> & \u2028 \"🐢\" ","categoryId":-9223372036854775808}`)
	event := s.ask("GET", "/v1/events?type=pet.created", "").events(t)[0]
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

// retention makes the shop forget all events that there are.
func (s *openShop) retention(t *testing.T) {
	t.Helper()
	if _, err := s.service.LastEvent(t.Context()); err != nil { // what has no place yet is not old enough
		t.Fatal(err)
	}
	s.clock.forward(2 * time.Hour)
	if err := s.open(shop.Options{EventRetention: time.Hour}).RemoveEvents(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestEventsThatExpired(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	s.retention(t)
	s.ask("GET", "/v1/events", "").want(t, 200, "[]")
	s.add(`{"name":"Mia","categoryId":1}`)
	for _, query := range []string{"after=0", "after=1", "after=1&type=order.placed", "after=0&subject=pets/2", "after=000"} {
		s.ask("GET", "/v1/events?"+query, "").wantError(t, 410, shop.EventsExpired)
	}
	for _, query := range []string{"", "after=2", "subject=pets/2", "limit=1"} { // from the oldest that is kept
		got := s.ask("GET", "/v1/events?"+query, "").events(t)
		if len(got) != 1 || got[0].ID != "3" {
			t.Errorf("%s: %+v", query, got)
		}
	}
	s.ask("GET", "/v1/events?after=3", "").want(t, 200, "[]")
}

// following is a stream that somebody reads.
type following struct {
	*http.Response
	lines *bufio.Scanner
}

// stream opens a stream, and holds it against the document.
func (s *openShop) stream(t *testing.T, query url.Values, headers ...string) *following {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, "GET", s.url+"/v1/events?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Authorization": {"Bearer " + adminKey}, "Accept": {"text/event-stream"}}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := s.client.Transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if err := s.checks.Check(request, response.StatusCode, response.Header, nil); err != nil {
		t.Fatal(err)
	}
	return &following{response, bufio.NewScanner(response.Body)}
}

// block reads up to the next blank line.
func (f *following) block(t *testing.T) string {
	t.Helper()
	var lines []string
	for f.lines.Scan() && f.lines.Text() != "" {
		lines = append(lines, f.lines.Text())
	}
	if err := f.lines.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// data reads the next event that has some, and returns what comes before its data, and the data.
func (f *following) data(t *testing.T) (before string, data []byte) {
	t.Helper()
	for {
		block := f.block(t)
		if before, text, ok := strings.Cut(block, "data: "); ok {
			return before, []byte(text)
		}
		if block == "" {
			t.Fatal("the stream has ended")
		}
	}
}

// Each event of a stream is as the document says, and stands under its own id.
func TestStreamIsAsDocumented(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stock()
	want := s.since(t, "/v1/events?limit=100")
	stream := s.stream(t, url.Values{"after": {"0"}})
	if got := stream.block(t); got != "retry: 2000\nid: 0" {
		t.Errorf("it begins with %q", got)
	}
	for _, event := range want {
		before, data := stream.data(t)
		if before != "id: "+event.ID+"\n" {
			t.Errorf("the event %s comes after %q", event.ID, before)
		}
		if err := s.checks.CheckSchema("Event", data); err != nil {
			t.Errorf("%s: %v", data, err)
		}
	}
	filtered := s.stream(t, url.Values{"after": {"0"}, "type": {"order.placed", "key.created"}, "subject": {"store/orders/1"}}, "Last-Event-ID: 1")
	if _, data := filtered.data(t); !strings.Contains(string(data), `"type":"order.placed"`) {
		t.Errorf("the first that fits is %s", data)
	}
}

// A stream whose place is gone says so as the document does, and goes on.
func TestStreamIsReset(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	s.retention(t)
	s.add(`{"name":"Mia","categoryId":1}`)
	s.ask("GET", "/v1/events", "").want(t, 200, "") // now it has its place: nothing works in the background here
	for _, header := range []string{"Last-Event-ID: 0", "Last-Event-ID: 1"} {
		stream := s.stream(t, nil, header)
		before, data := stream.data(t)
		if err := s.checks.CheckSchema("Error", data); err != nil || !strings.HasPrefix(before, "event: reset\n") ||
			!strings.Contains(string(data), fmt.Sprintf("%q", shop.EventsExpired)) {
			t.Errorf("%s: got %s%s (%v)", header, before, data, err)
		}
		if before, _ := stream.data(t); before != "id: 3\n" {
			t.Errorf("%s: it goes on with %q", header, before)
		}
	}
}

// What is wrong is said before a stream begins, as everywhere else.
func TestStreamsThatDoNotBegin(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const accept = "Accept: text/event-stream"
	for _, id := range []string{"x", "-1", "1.0", "1234567890123456789", "1, 2"} {
		s.ask("GET", "/v1/events", "", accept, "Last-Event-ID: "+id).wantError(t, 400, shop.InvalidParameter)
		s.ask("GET", "/v1/events", "", "Last-Event-ID: "+id).want(t, 200, "[]") // it counts for a stream only
	}
	s.ask("GET", "/v1/events?type=x", "", accept).wantError(t, 400, shop.InvalidParameter)
	s.ask("GET", "/v1/events", "", accept, bearing(s.key(shop.PetsRead))).wantError(t, 403, shop.InsufficientScope)
	s.ask("GET", "/v1/events", "", accept, "Authorization: ").wantError(t, 401, shop.MissingAPIKey)
	head := s.ask("HEAD", "/v1/events", "", accept)
	if head.want(t, 200, ""); head.Header.Get("Content-Type") != "text/event-stream" || !strings.Contains(s.log.String(), "operation=listEvents status=200") {
		t.Errorf("HEAD answers %v", head.Header)
	}
	s.store.failWith(func(bool) error { return shop.UnavailableError(errSecret) })
	s.ask("GET", "/v1/events", "", accept).wantError(t, 503, shop.Unavailable)
	s.store.failWith(nil)
	s.api.Stopping()
	s.ask("GET", "/v1/events", "", accept).wantError(t, 503, shop.Unavailable)
}
