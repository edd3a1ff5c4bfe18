package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/client"
	"animalstore/internal/shop"
)

// Every event holds the state of the resource before and after the change.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx, pet := s.client(), t.Context(), s.addPet("Rex")
	order := must(c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID, Reference: "web-17"}))(t)
	key := must(c.CreateKey(ctx, client.NewKey{Name: "x", Scopes: []client.Scope{client.ScopeAdmin}}))(t)
	must(c.CancelOrder(ctx, order.ID))(t)
	if err := c.DeletePet(ctx, pet.ID); err != nil {
		t.Fatal(err)
	}
	byType := map[client.EventType][]client.Event{}
	last := ""
	for event, err := range c.Events(ctx, client.EventQuery{Limit: 2}) {
		if must(event, err)(t).SpecVersion != "1.0" || event.Source == "" || event.Actor != "configured" ||
			event.DataContentType != "application/json" || time.Since(event.Time) > time.Hour || event.ID <= last {
			t.Errorf("got %+v", event)
		}
		byType[event.Type], last = append(byType[event.Type], event), event.ID
	}
	if got := must(c.LastEventID(ctx))(t); got != last {
		t.Errorf("the last event is %s, want %s", got, last)
	}

	pet.ETag = "" // an animal in an event has no ETag
	pending := pet
	pending.Status = client.PetPending
	for i, want := range [][2]*client.Pet{{&pending, &pet}, {&pet, &pending}} {
		current, previous, err := byType[client.EventPetUpdated][i].Pet()
		if err != nil || *current != *want[0] || *previous != *want[1] {
			t.Errorf("changed from %+v to %+v, %v", previous, current, err)
		}
	}
	created, deleted := byType[client.EventPetCreated][0], byType[client.EventPetDeleted][0]
	if current, previous, err := created.Pet(); err != nil || *current != pet || previous != nil || created.Data.Previous != nil {
		t.Errorf("created from %+v: %+v, %v", previous, current, err)
	}
	if current, previous, err := deleted.Pet(); err != nil || current != nil || *previous != pet || deleted.Data.Current != nil {
		t.Errorf("deleted %+v to %+v, %v", previous, current, err)
	}
	placed := byType[client.EventOrderPlaced][0]
	if current, previous, err := placed.Order(); err != nil || *current != order || previous != nil || placed.Subject != fmt.Sprintf("store/orders/%d", order.ID) {
		t.Errorf("placed %+v, %v", current, err)
	}
	if current, _, err := byType[client.EventCategoryCreated][0].Category(); err != nil || current.ID != 1 {
		t.Errorf("created %+v, %v", current, err)
	}
	if current, _, err := byType[client.EventKeyCreated][0].Key(); err != nil || current.ID != key.ID || current.Secret != "" {
		t.Errorf("created %+v, %v", current, err)
	}
	if _, _, err := placed.Pet(); err == nil {
		t.Error("an order event was decoded as an animal")
	}
	placed.Data.Current = json.RawMessage(`"x"`)
	if _, _, err := placed.Order(); err == nil {
		t.Error("a string was decoded as an order")
	}
}

func TestEventPages(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	s.addPets(5)
	want, c := s.history(), s.client()
	query := client.EventQuery{Limit: 4}
	var got []string
	for sizes := []int{4, 2}; len(sizes) > 0; sizes = sizes[1:] {
		events, next, err := c.ListEvents(t.Context(), query)
		if err != nil || len(events) != sizes[0] || (next == "") != (len(sizes) == 1) {
			t.Fatalf("got %d events and the position %q, %v", len(events), next, err)
		}
		for _, event := range events {
			got = append(got, event.ID)
		}
		query.After = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, q := range []client.EventQuery{{After: "x"}, {Limit: 101}, {EventFilter: client.EventFilter{Types: []client.EventType{"x"}}}} {
		_, _, err := c.ListEvents(t.Context(), q)
		wantCode(t, err, client.CodeInvalidParameter)
	}
}

// This package has a constant for every event type.
func TestEventTypesAreComplete(t *testing.T) {
	t.Parallel()
	source := must(os.ReadFile("event.go"))(t)
	for _, known := range shop.EventTypes() {
		if !bytes.Contains(source, fmt.Appendf(nil, "EventType = %q", known)) {
			t.Errorf("there is no constant for %s", known)
		}
	}
}

// Decoding an event from JSON and encoding it again produces the same JSON.
func TestEventJSON(t *testing.T) {
	t.Parallel()
	const text = `{"specversion":"1.0","id":"7","source":"/v1","type":"pet.deleted","subject":"pets/1","time":"2026-11-15T04:43:34.123456Z",` +
		`"datacontenttype":"application/json","actor":"keys/3","data":{"current":null,"previous":{"id":1}}}`
	var event client.Event
	if err := json.Unmarshal([]byte(text), &event); err != nil {
		t.Fatal(err)
	}
	if again := must(json.Marshal(event))(t); string(again) != text {
		t.Errorf("got %s", again)
	}
	for _, data := range []string{`null`, `{}`} {
		if err := json.Unmarshal([]byte(`{"data":`+data+`}`), &event); err != nil {
			t.Errorf("%s: %v", data, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"data":7}`), &event); err == nil {
		t.Error("a number was decoded as event data")
	}
}

// scriptedStreams is a transport that responds to each request with the next text in a list. It records the
// time and the headers of each request.
type scriptedStreams struct {
	texts        []string // "503 after 2" means status 503 with Retry-After: 2; the last text is sent repeatedly
	requestTimes []time.Time
	sent         []http.Header
}

func (s *scriptedStreams) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	text := s.texts[min(len(s.requestTimes), len(s.texts)-1)]
	s.requestTimes, s.sent = append(s.requestTimes, time.Now()), append(s.sent, r.Header)
	response := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}}
	if status, after, refused := strings.Cut(text, " after "); refused {
		fmt.Sscan(status, &response.StatusCode)
		response.Header = http.Header{"Retry-After": {after}}
		text = ""
	}
	response.Body = io.NopCloser(strings.NewReader(text))
	return response, nil
}

func (s *scriptedStreams) client(t *testing.T) *client.Client {
	return must(client.New("http://animals.example/v1", adminKey, client.WithHTTPClient(&http.Client{Transport: s})))(t)
}

func eventText(id string) string {
	return fmt.Sprintf("id: %s\ndata: {\"id\":%q,\ndata: \"type\":\"pet.created\"}\n\n", id, id)
}

const unauthorized = "401 after 0"

// Whatever a stream contains, each event is delivered only once. Data that cannot be decoded is an error and
// is never skipped.
func TestFollowUnusualStreams(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		texts []string
		want  []string    // the ids of the delivered events
		asked []string    // the Last-Event-ID header of each reconnection
		code  client.Code // the expected error code; if empty, the status 401 is expected
	}{
		{"consecutive events", []string{eventText("6") + eventText("10"), eventText("11"), unauthorized}, []string{"6", "10", "11"}, []string{"10", "11"}, ""},
		{"repeated events", []string{eventText("6") + eventText("6"), eventText("6") + eventText("7") + eventText("5"), unauthorized}, []string{"6", "7"}, []string{"6", "7"}, ""},
		{"old events", []string{eventText("5") + eventText("4") + eventText("05") + eventText("000006"), unauthorized}, []string{"000006"}, []string{"000006"}, ""},
		{"an id without an event", []string{"id: 8\n\n", "id: 7\n\n" + eventText("8"), "id: 008\n\n", unauthorized}, nil, []string{"8", "8", "008"}, ""},
		{"an id that is cleared", []string{"id: 8\n\nid\n\n", unauthorized}, nil, []string{"8"}, ""},
		{"a truncated event", []string{eventText("6") + strings.TrimSuffix(eventText("7"), "\n"), eventText("7"), unauthorized}, []string{"6", "7"}, []string{"6", "7"}, ""},
		{"other messages", []string{"event: hello\nid: 6\ndata: x\n\nevent: message\n" + eventText("7"), unauthorized}, []string{"7"}, []string{"7"}, ""},
		{"data that is not an event", []string{"id: 6\ndata: x\n\n"}, nil, nil, client.CodeUnexpectedAnswer},
		{"an event without an id", []string{"data: {\"type\":\"pet.created\"}\n\n"}, nil, nil, client.CodeUnexpectedAnswer},
		{"ids that differ", []string{"id: 6\ndata: {\"id\":\"7\"}\n\n"}, nil, nil, client.CodeUnexpectedAnswer},
		{"an id that is not a number", []string{"id: x\n\n"}, nil, nil, client.CodeUnexpectedAnswer},
		{"an id that is too long", []string{"id: 1234567890123456789\n\n"}, nil, nil, client.CodeUnexpectedAnswer},
		{"an event that is too large", []string{eventText("6") + "data: " + strings.Repeat("x", 1<<20) + "\n\n"}, []string{"6"}, nil, client.CodeUnexpectedAnswer},
		{"a reset without an id", []string{"event: reset\ndata: " + apiError(410, client.CodeEventsExpired) + "\n\n"}, nil, nil, client.CodeUnexpectedAnswer},
		{"a reset without a reason", []string{"event: reset\nid: 7\ndata: {}\n\n"}, nil, nil, client.CodeUnexpectedAnswer},
		{"a reset", []string{"event: reset\nid: 3\ndata: " + apiError(410, client.CodeEventsExpired) + "\n\n" + eventText("4"), unauthorized}, []string{"reset 3", "4"}, []string{"4"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := &scriptedStreams{texts: c.texts}
				var got, asked []string
				var last error
				for event, err := range service.client(t).Follow(t.Context(), "5", client.EventFilter{}) {
					if reset, ok := errors.AsType[*client.ResetError](err); ok {
						got = append(got, "reset "+reset.After)
					} else if last = err; err == nil {
						got = append(got, event.ID)
					}
				}
				for _, header := range service.sent[1:] {
					asked = append(asked, header.Get("Last-Event-ID"))
				}
				if !slices.Equal(got, c.want) || !slices.Equal(asked, c.asked) {
					t.Errorf("delivered %q, requested after %q", got, asked)
				}
				if e, ok := errors.AsType[*client.Error](last); !ok || c.code != "" && e.Code != c.code || c.code == "" && e.Status != 401 {
					t.Errorf("ended with %v", last)
				}
				if first := service.sent[0]; first.Get("Accept") != "text/event-stream" || first.Get("Last-Event-ID") != "5" ||
					first.Get("Authorization") != "Bearer "+adminKey {
					t.Errorf("the first request has the headers %v", first)
				}
			})
		})
	}
}

// The delay before a reconnection starts at the value that the service requests and grows with each failure.
// After an event has arrived, the delay starts over.
func TestFollowReconnectDelays(t *testing.T) {
	t.Parallel()
	second := time.Second
	for _, c := range []struct {
		name  string
		texts []string
		least []time.Duration
		most  []time.Duration
	}{
		{"by itself", []string{""},
			[]time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 0},
			[]time.Duration{second / 4, second / 2, second, 2 * second, 4 * second, 8 * second, 16 * second, 30 * second, 30 * second}},
		{"as asked", []string{"retry: 2000\n\n"},
			[]time.Duration{2 * second, 2 * second, 2 * second, 2 * second, 2 * second, 2 * second},
			[]time.Duration{4 * second, 6 * second, 10 * second, 18 * second, 32 * second, 32 * second}},
		{"asked once", []string{"retry: 2000\n", ""},
			[]time.Duration{2 * second, 2 * second}, []time.Duration{4 * second, 6 * second}},
		{"asked for nothing", []string{"retry: 0\n"},
			[]time.Duration{0, 0}, []time.Duration{second / 4, second / 2}},
		{"asked for too much", []string{"retry: 99999999999999999999\n"},
			[]time.Duration{time.Minute, time.Minute}, []time.Duration{90 * second, 90 * second}},
		{"refused", []string{"retry: 2000\n", "503 after 7", "503 after 1", "503 after 9999"},
			[]time.Duration{2 * second, 7 * second, 2 * second, time.Minute}, []time.Duration{4 * second, 11 * second, 10 * second, 76 * second}},
		{"an event", []string{"", "", "", eventText("6"), ""},
			[]time.Duration{0, 0, 0, 0, 0}, []time.Duration{second / 4, second / 2, second, second / 4, second / 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for range 20 {
					service := &scriptedStreams{texts: append(slices.Clone(c.texts), slices.Repeat(c.texts[len(c.texts)-1:], len(c.most)-len(c.texts)+1)...)}
					service.texts = append(service.texts[:len(c.most)+1], unauthorized)
					lastError(service.client(t).Follow(t.Context(), "5", client.EventFilter{}))
					for i := range c.most {
						if wait := service.requestTimes[i+1].Sub(service.requestTimes[i]); wait < c.least[i] || wait >= c.most[i] {
							t.Errorf("wait %d took %v, want %v to %v", i, wait, c.least[i], c.most[i])
						}
					}
				}
			})
		})
	}
}
