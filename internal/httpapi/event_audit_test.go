package httpapi

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// change is a request and the events that it must cause, in order. Each event has the format "type subject
// actor, current, previous".
type change struct {
	method, path, body string
	events             []string
}

// vague matches members with values that differ in every test run.
var vague = regexp.MustCompile(`,"(createdAt|updatedAt|holdExpiresAt|expiresAt|lastUsedAt|hint)":"[^"]*"`)

// eventsOf sends the request for a change and returns the events that the request causes.
func (s *testShop) eventsOf(t *testing.T, d change, headers ...string) []string {
	t.Helper()
	before := s.lastEvent(t)
	if got := s.do(d.method, d.path, d.body, headers...); got.StatusCode >= 300 && d.events != nil {
		t.Errorf("%s %s %s returned %d %s", d.method, d.path, d.body, got.StatusCode, got.body)
	}
	return s.eventLines(t, before)
}

func (s *testShop) lastEvent(t *testing.T) int64 {
	t.Helper()
	last, err := s.Service.LastEvent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return last
}

func (s *testShop) eventLines(t *testing.T, after int64) (lines []string) {
	t.Helper()
	for _, e := range s.since(t, fmt.Sprintf("/v1/events?after=%d", after)) {
		line := fmt.Sprintf("%s %s %s, %s, %s", e.Type, e.Subject, e.Actor, e.Data.Current, e.Data.Previous)
		lines = append(lines, vague.ReplaceAllString(line, ""))
	}
	return lines
}

func compare(t *testing.T, what any, got, want []string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%v caused the events\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Each change causes an event with its actor and with the resource before and after the change. A request
// that fails or changes nothing causes no events. ACTOR is a placeholder for the key that sends all
// requests.
var changes = []change{
	{"POST", "/v1/pets", `{"name":"Rex","categoryId":7,"status":"available"}`, []string{
		`category.created categories/7 ACTOR, {"id":7}, null`,
		`pet.created pets/1 ACTOR, {"id":1,"name":"Rex","categoryId":7,"status":"available"}, null`,
	}},
	{"POST", "/v1/pets", `{"name":"Mia","categoryId":7}`, []string{`pet.created pets/2 ACTOR, {"id":2,"name":"Mia","categoryId":7}, null`}},
	{"PATCH", "/v1/pets/2", `{"name":"Leo","status":"sold"}`, []string{
		`pet.updated pets/2 ACTOR, {"id":2,"name":"Leo","categoryId":7,"status":"sold"}, {"id":2,"name":"Mia","categoryId":7}`,
	}},
	{"PATCH", "/v1/pets/2", `{"name":"Leo","status":"sold","categoryId":7}`, nil},
	{"PATCH", "/v1/pets/2", `{}`, nil},
	{"PATCH", "/v1/pets/2", `{"status":"pending"}`, nil},
	{"PATCH", "/v1/pets/2", `{"categoryId":-8}`, []string{
		`category.created categories/-8 ACTOR, {"id":-8}, null`,
		`pet.updated pets/2 ACTOR, {"id":2,"name":"Leo","categoryId":-8,"status":"sold"}, {"id":2,"name":"Leo","categoryId":7,"status":"sold"}`,
	}},
	{"PATCH", "/v1/pets/2", `{"categoryId":9,"status":"pending"}`, nil}, // a refused request creates no category
	{"DELETE", "/v1/pets/2", ``, []string{`pet.deleted pets/2 ACTOR, null, {"id":2,"name":"Leo","categoryId":-8,"status":"sold"}`}},
	{"DELETE", "/v1/pets/2", ``, nil},

	{"POST", "/v1/categories", `{"name":"Dogs"}`, []string{`category.created categories/1 ACTOR, {"id":1,"name":"Dogs"}, null`}},
	{"PUT", "/v1/categories/1", `{"name":"Cats"}`, []string{`category.updated categories/1 ACTOR, {"id":1,"name":"Cats"}, {"id":1,"name":"Dogs"}`}},
	{"PUT", "/v1/categories/1", `{"name":"Cats"}`, nil},
	{"PUT", "/v1/categories/-8", `{"name":"Fish"}`, []string{`category.updated categories/-8 ACTOR, {"id":-8,"name":"Fish"}, {"id":-8}`}},
	{"PUT", "/v1/categories/5", `{"name":"Mice"}`, []string{`category.created categories/5 ACTOR, {"id":5,"name":"Mice"}, null`}},
	{"DELETE", "/v1/categories/5", ``, []string{`category.deleted categories/5 ACTOR, null, {"id":5,"name":"Mice"}`}},
	{"DELETE", "/v1/categories/7", ``, nil},

	{"POST", "/v1/store/orders", `{"petId":1,"reference":"basket 4711"}`, []string{
		`order.placed store/orders/1 ACTOR, {"id":1,"petId":1,"status":"placed","reference":"basket 4711"}, null`,
		`pet.updated pets/1 ACTOR, {"id":1,"name":"Rex","categoryId":7,"status":"pending"}, {"id":1,"name":"Rex","categoryId":7,"status":"available"}`,
	}},
	{"POST", "/v1/store/orders", `{"petId":1}`, nil},
	{"PATCH", "/v1/store/orders/1", `{"status":"placed"}`, nil},
	{"PATCH", "/v1/store/orders/1", `{"status":"delivered"}`, nil},
	{"PATCH", "/v1/store/orders/1", `{"status":"approved"}`, []string{
		`order.approved store/orders/1 ACTOR, {"id":1,"petId":1,"status":"approved","reference":"basket 4711"}, {"id":1,"petId":1,"status":"placed","reference":"basket 4711"}`,
	}},
	{"PATCH", "/v1/store/orders/1", `{"status":"delivered"}`, []string{
		`order.delivered store/orders/1 ACTOR, {"id":1,"petId":1,"status":"delivered","reference":"basket 4711"}, {"id":1,"petId":1,"status":"approved","reference":"basket 4711"}`,
		`pet.updated pets/1 ACTOR, {"id":1,"name":"Rex","categoryId":7,"status":"sold"}, {"id":1,"name":"Rex","categoryId":7,"status":"pending"}`,
	}},
	{"PATCH", "/v1/pets/1", `{"status":"available"}`, []string{
		`pet.updated pets/1 ACTOR, {"id":1,"name":"Rex","categoryId":7,"status":"available"}, {"id":1,"name":"Rex","categoryId":7,"status":"sold"}`,
	}},
	{"POST", "/v1/store/orders", `{"petId":1}`, []string{
		`order.placed store/orders/2 ACTOR, {"id":2,"petId":1,"status":"placed"}, null`,
		`pet.updated pets/1 ACTOR, {"id":1,"name":"Rex","categoryId":7,"status":"pending"}, {"id":1,"name":"Rex","categoryId":7,"status":"available"}`,
	}},
	{"PATCH", "/v1/store/orders/2", `{"status":"cancelled"}`, []string{
		`order.cancelled store/orders/2 ACTOR, {"id":2,"petId":1,"status":"cancelled"}, {"id":2,"petId":1,"status":"placed"}`,
		`pet.updated pets/1 ACTOR, {"id":1,"name":"Rex","categoryId":7,"status":"available"}, {"id":1,"name":"Rex","categoryId":7,"status":"pending"}`,
	}},

	{"POST", "/v1/keys", `{"name":"web","scopes":["pets:read"]}`, []string{`key.created keys/2 ACTOR, {"id":2,"name":"web","scopes":["pets:read"]}, null`}},
	{"POST", "/v1/keys/2/rotate", ``, []string{
		`key.rotated keys/2 ACTOR, {"id":2,"name":"web","scopes":["pets:read"]}, {"id":2,"name":"web","scopes":["pets:read"]}`,
	}},
	{"DELETE", "/v1/keys/2", ``, []string{`key.revoked keys/2 ACTOR, null, {"id":2,"name":"web","scopes":["pets:read"]}`}},
	{"DELETE", "/v1/keys/1", ``, nil}, // the last admin key cannot be revoked

	{"POST", "/v1/imports", "{\"name\":\"Tom\",\"categoryId\":7}\n{\"name\":\"Jerry\",\"categoryId\":12,\"status\":\"sold\"}", []string{
		`category.created categories/12 ACTOR, {"id":12}, null`,
		`pet.created pets/3 ACTOR, {"id":3,"name":"Tom","categoryId":7}, null`,
		`pet.created pets/4 ACTOR, {"id":4,"name":"Jerry","categoryId":12,"status":"sold"}, null`,
	}},
	{"POST", "/v1/imports", `{"name":"Tom","categoryId":13,"status":"gone"}`, nil},
	{"POST", "/v1/imports?dryRun=true", `{"name":"Tom","categoryId":13}`, nil},

	{"POST", "/v1/webhooks", `{"url":"https://example.com/hook"}`, []string{
		`webhook.created webhooks/1 ACTOR, {"id":1,"url":"https://example.com/hook","enabled":true}, null`,
	}},
	{"PATCH", "/v1/webhooks/1", `{"enabled":false,"types":["pet.created"]}`, []string{
		`webhook.updated webhooks/1 ACTOR, {"id":1,"url":"https://example.com/hook","types":["pet.created"],"enabled":false}, ` +
			`{"id":1,"url":"https://example.com/hook","enabled":true}`,
	}},
	{"PATCH", "/v1/webhooks/1", `{"enabled":false,"types":["pet.created","pet.created"],"url":"https://example.com/hook"}`, nil},
	{"POST", "/v1/webhooks/1/rotate", ``, []string{
		`webhook.updated webhooks/1 ACTOR, {"id":1,"url":"https://example.com/hook","types":["pet.created"],"enabled":false}, ` +
			`{"id":1,"url":"https://example.com/hook","types":["pet.created"],"enabled":false}`,
	}},
	{"POST", "/v1/webhooks/1/test", ``, nil},
	{"GET", "/v1/webhooks/1/deliveries", ``, nil},
	{"POST", "/v1/webhooks/1/deliveries/1/redeliver", ``, nil},
	{"DELETE", "/v1/webhooks/1", ``, []string{
		`webhook.deleted webhooks/1 ACTOR, null, {"id":1,"url":"https://example.com/hook","types":["pet.created"],"enabled":false}`,
	}},
}

// oneLine replaces line breaks, so that a text can be used in a header.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " ") }

func TestEveryChangeIsRecordedAsAnEvent(t *testing.T) {
	t.Parallel()
	for _, actor := range []string{"configured", "keys/1"} {
		s := newShopWith(t, shoptest.Options{Postgres: actor == "keys/1"}) // one engine for each actor
		key := s.key(shop.Admin)                                           // not created through the API, so the event has no actor
		compare(t, "a key of the command line", s.eventLines(t, 0), []string{`key.created keys/1 system, {"id":1,"name":"Žofie <at the till>","scopes":["admin"]}, null`})
		if actor == "configured" {
			key = adminKey
		}
		s.skipValidation = true // other tests validate these responses
		for _, c := range changes {
			var want []string
			for _, line := range c.events {
				want = append(want, strings.Replace(line, " ACTOR, ", " "+actor+", ", 1))
			}
			got := s.eventsOf(t, c, bearing(key), "Idempotency-Key: "+oneLine(c.path+c.body))
			compare(t, c.method+" "+c.path+" "+c.body, got, want)
			if c.method == "POST" { // a retry causes no events
				compare(t, "a retry of "+c.path, s.eventsOf(t, c, bearing(key), "Idempotency-Key: "+oneLine(c.path+c.body)), nil)
			}
		}
		s.skipValidation = false
		s.since(t, "/v1/events") // validates all events against the OpenAPI document
	}
}

// The list of changes covers every event type except order.expired, which is not caused by a request.
func TestEveryEventTypeIsCovered(t *testing.T) {
	t.Parallel()
	types := map[string]bool{string(shop.OrderExpired): true}
	for _, c := range changes {
		for _, line := range c.events {
			what, _, _ := strings.Cut(line, " ")
			types[what] = true
		}
	}
	for _, what := range shop.EventTypes() {
		if !types[string(what)] {
			t.Errorf("%s is not covered", what)
		}
	}
}

// The events for an expired hold have no actor, whichever request detects the expiry.
func TestExpiredHoldIsRecordedWithoutActor(t *testing.T) {
	t.Parallel()
	expired := []string{
		`order.expired store/orders/1 system, {"id":1,"petId":1,"status":"expired"}, {"id":1,"petId":1,"status":"placed"}`,
		`pet.updated pets/1 system, {"id":1,"name":"Rex","categoryId":1,"status":"available"}, {"id":1,"name":"Rex","categoryId":1,"status":"pending"}`,
	}
	for _, c := range []change{
		{"GET", "/v1/pets", ``, []string{}},
		{"POST", "/v1/store/orders", `{"petId":1}`, []string{
			`order.placed store/orders/2 keys/1, {"id":2,"petId":1,"status":"placed"}, null`,
			`pet.updated pets/1 keys/1, {"id":1,"name":"Rex","categoryId":1,"status":"pending"}, {"id":1,"name":"Rex","categoryId":1,"status":"available"}`,
		}},
	} {
		s := newShop(t)
		key := s.key(shop.Admin)
		s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
		s.do("POST", "/v1/store/orders", `{"petId":1}`).want(t, 201, "")
		s.Clock.Forward(73 * time.Hour)
		compare(t, c.method+" "+c.path, s.eventsOf(t, c, bearing(key)), append(expired[:2:2], c.events...))
	}
}
