package httpapi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// wireEvent is an event as it appears in the API.
type wireEvent struct {
	ID, Source, Type, Subject, Actor string
	Time                             time.Time
	Data                             struct{ Current, Previous json.RawMessage }
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
	for _, query := range []string{ // FuzzList tries more invalid queries
		"after=", "after=-1", "after=1234567890123456789", "after=1&after=1", "limit=0", "limit=101", "limit=%zz",
		"type=", "type=Pet.Created", "type=pet.created,pet.updated", "type=webhook.test", "subject=a&subject=b", "subject=a%00",
		strings.Repeat("type=pet.created&", 40000), // more types than a database query can take
	} {
		s.do("GET", "/v1/events?"+query, "").wantError(t, 400, shop.InvalidParameter)
	}
}

// Only keys with the admin scope see the events of keys and webhooks, because the URL of a webhook may contain a token.
// Keys without that scope see all other events.
func TestEventsOfKeysAndWebhooksNeedTheScopeAdmin(t *testing.T) {
	s := newStreamShop(t)
	reader, admin := bearing(s.key(shop.EventsRead)), bearing(s.key(shop.Admin)) // cause events 1 and 2
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)                  // causes events 3 and 4
	s.do("POST", "/v1/webhooks", `{"url":"https://example.com/TOKEN"}`)          // causes event 5
	s.do("POST", "/v1/store/orders", `{"petId":1}`)                              // causes events 6 and 7
	s.do("POST", "/v1/webhooks/1/rotate", "")                                    // causes event 8
	s.do("DELETE", "/v1/keys/2", "").wantError(t, 409, shop.LastAdminKey)
	s.do("PUT", "/v1/categories/1", `{"name":"Dogs"}`) // causes event 9
	s.do("DELETE", "/v1/webhooks/1", "")               // causes event 10
	for query, want := range map[string]string{
		"": "3 4 6 7 9", "limit=1": "3 4 6 7 9", "limit=2&after=3": "4 6 7 9", "limit=5": "3 4 6 7 9", "after=9": "",
		"subject=webhooks/1": "", "subject=keys/1": "", "subject=pets/1": "4 7", "type=order.placed&type=pet.updated": "6 7",
	} {
		s.wantPages(t, "/v1/events?"+query, want, reader)
	}
	s.wantPages(t, "/v1/events", "1 2 3 4 5 6 7 8 9 10", admin)
	s.wantPages(t, "/v1/events?type=key.created&type=webhook.created&limit=1", "1 2 5", admin)
	for _, accept := range []string{"Accept: application/json", acceptStream} {
		refused := s.do("GET", "/v1/events?type=pet.created&type=webhook.created", "", reader, accept)
		refused.wantError(t, 403, shop.InsufficientScope)
		refused.wantHeaders(t, `WWW-Authenticate: Bearer realm="animalstore", error="insufficient_scope", scope="admin"`)
	}
	stream := s.followFrom("0", "?after=0", reader)
	stream.wantEvents("category.created categories/1", "pet.created pets/1", "order.placed store/orders/1", "pet.updated pets/1", "category.updated categories/1")
	s.key(shop.PetsRead)
	s.do("DELETE", "/v1/pets/1", "").wantError(t, 409, shop.PetHasOpenOrder)
	s.add(`{"name":"Mia","categoryId":1}`)
	stream.wantEvents("pet.created pets/2")
}

func TestEventsAreFilteredByTimeAndActor(t *testing.T) {
	s := parallelShop(t)
	key := bearing(s.key(shop.Admin)) // causes event 1, whose actor is the system
	for i := range 6 {                // causes events 2 to 7, a minute apart
		s.Clock.Forward(time.Minute)
		s.do("PUT", fmt.Sprint("/v1/categories/", i), `{"name":"x"}`, []string{bearing(adminKey), key}[i%2]).want(t, 201, "")
	}
	events := s.since(t, "/v1/events")
	at := func(event int, later time.Duration) string {
		return events[event-1].Time.Add(later).Format(time.RFC3339Nano)
	}
	since := func(event int, later time.Duration) string { return "since=" + at(event, later) }
	until := func(event int, later time.Duration) string { return "until=" + at(event, later) }
	abroad := events[4].Time.In(time.FixedZone("", -7200)).Format("2006-01-02t15:04:05.999999-07:00")
	for query, want := range map[string]string{
		"actor=system": "1", "actor=configured": "2 4 6", "actor=keys/1": "3 5 7", "actor=keys/1&limit=1": "3 5 7", "actor=keys/2": "",
		since(1, 0): "1 2 3 4 5 6 7", since(4, 0): "4 5 6 7", since(4, 1): "5 6 7", since(7, 1): "", "since=0000-01-01T00:00:00Z": "1 2 3 4 5 6 7",
		"since=0001-01-01T00:00:00Z": "1 2 3 4 5 6 7", "until=0001-01-01T00:00:00Z": "", "until=0000-01-01T00:00:00Z": "",
		"since=2016-12-31T23:59:60.5Z&until=9999-01-01T00:59:60%2B01:00": "1 2 3 4 5 6 7", "until=2016-12-31t15:59:60-08:00": "",
		until(4, 0): "1 2 3", until(4, 1): "1 2 3 4", until(1, 0): "", "until=9999-12-31T23:59:59Z&limit=3": "1 2 3 4 5 6 7",
		since(3, 0) + "&" + until(6, 0): "3 4 5", since(4, 0) + "&" + until(4, 0): "", "since=" + abroad: "5 6 7",
		since(3, 0) + "&" + until(7, 0) + "&actor=keys/1&type=category.created&limit=1": "3 5",
		"actor=configured&subject=categories/2&" + since(1, 0):                          "4", "actor=keys/1&subject=categories/2": "",
		"actor=configured&type=pet.created": "", since(3, 0) + "&after=4&limit=2": "5 6 7",
	} {
		s.wantPages(t, "/v1/events?"+query, want)
	}
	page := s.do("GET", "/v1/events?limit=1&actor=keys/1&since=2020-01-02T05:04:05.50%2B02:00&until=9999-01-01T00:00:00Z", "")
	for link, position := range map[string]string{"first": "", "next": "after=3&"} {
		want := s.url + "/v1/events?actor=keys%2F1&" + position + "limit=1&since=2020-01-02T03%3A04%3A05.5Z&until=9999-01-01T00%3A00%3A00Z"
		if page.link(link) != want {
			t.Errorf("the %s page is %s, want %s", link, page.link(link), want)
		}
	}
	for _, query := range []string{
		"since=", "since=yesterday", "since=2030-01-02", "since=2030-01-02T03:04:05", "since=2030-01-02T03:04:05+02:00", "since=2030-02-30T00:00:00Z",
		"until=1893553445", "until=2030-01-02T25:00:00Z", "until=2030-01-02T03:04:05%2B24:00", "until=2030-01-02T03:04:05-01:60",
		"since=2030-01-02T03:59:60Z", "since=2030-01-02T23:59:61Z", "since=0000-01-01T00:00:00%2B00:01", since(1, 0) + "&" + since(1, 0),
		until(1, 0) + "&" + since(2, 0), "actor=", "actor=keys", "actor=keys/", "actor=keys/07", "actor=keys/0", "actor=keys/-1",
		"actor=keys/+7", "actor=keys/99999999999999999999", "actor=Keys/1", "actor=System", "actor=nobody", "actor=system&actor=system",
	} {
		name, _, _ := strings.Cut(query, "=")
		got := s.do("GET", "/v1/events?"+query, "")
		got.wantError(t, 400, shop.InvalidParameter)
		if !strings.Contains(string(got.body), "parameter "+name+" ") {
			t.Errorf("%s: the message does not name the parameter: %s", query, got.body)
		}
	}
}

// change is a request and the events that it must cause, in order. Each event has the format "type subject
// actor, current, previous". ACTOR is a placeholder for the key that sends the request.
type change struct {
	request, body string
	events        []string
}

// vague matches members whose values differ between test runs.
var vague = regexp.MustCompile(`,"(createdAt|updatedAt|holdExpiresAt|expiresAt|lastUsedAt|hint)":"[^"]*"`)

// wantEvents sends the request for a change and checks the events that the request causes.
func (s *testShop) wantEvents(t *testing.T, c change, actor string, headers ...string) {
	t.Helper()
	before := shoptest.Must(s.Service.LastEvent(t.Context()))(t)
	method, path, _ := strings.Cut(c.request, " ")
	if got := s.do(method, path, c.body, headers...); got.StatusCode >= 300 && c.events != nil {
		t.Errorf("%s %s returned %d %s", c.request, c.body, got.StatusCode, got.body)
	}
	got := strings.Join(s.eventLines(t, before), "\n")
	if want := strings.ReplaceAll(strings.Join(c.events, "\n"), " ACTOR, ", " "+actor+", "); got != want {
		t.Errorf("%s %s caused the events\n%s\nwant\n%s", c.request, c.body, got, want)
	}
}

func (s *testShop) eventLines(t *testing.T, after int64) (lines []string) {
	t.Helper()
	path := fmt.Sprintf("/v1/events?after=%d", after)
	for _, kind := range shop.EventTypes() { // some types must be named
		path += "&type=" + string(kind)
	}
	for _, e := range s.since(t, path) {
		line := fmt.Sprintf("%s %s %s, %s, %s", e.Type, e.Subject, e.Actor, e.Data.Current, e.Data.Previous)
		lines = append(lines, vague.ReplaceAllString(line, ""))
	}
	return lines
}

// since reads all pages of the event feed, starting at the given path.
func (s *testShop) since(t *testing.T, path string) (events []wireEvent) {
	t.Helper()
	for path != "" {
		page := s.do("GET", path, "").want(t, 200, "")
		events = append(events, parsed[[]wireEvent](t, page)...)
		path = page.link("next")
	}
	return events
}

// Resources in each of their states. The events in the variable changes contain them.
const (
	rexAvailable = `{"id":1,"name":"Rex","categoryId":7,"status":"available"}`
	rexPending   = `{"id":1,"name":"Rex","categoryId":7,"status":"pending"}`
	rexSold      = `{"id":1,"name":"Rex","categoryId":7,"status":"sold"}`
	mia          = `{"id":2,"name":"Mia","categoryId":7}`
	leo          = `{"id":2,"name":"Leo","categoryId":7,"status":"sold"}`
	leoMoved     = `{"id":2,"name":"Leo","categoryId":-8,"status":"sold"}`
	placed1      = `{"id":1,"petId":1,"status":"placed","reference":"b 4711"}`
	unnamed1     = `{"id":1,"petId":1,"status":"placed"}`
	approved1    = `{"id":1,"petId":1,"status":"approved","reference":"b 4711"}`
	delivered1   = `{"id":1,"petId":1,"status":"delivered","reference":"b 4711"}`
	placed2      = `{"id":2,"petId":1,"status":"placed"}`
	cancelled2   = `{"id":2,"petId":1,"status":"cancelled"}`
	webKey       = `{"id":2,"name":"web","scopes":["pets:read"]}`
	hookEnabled  = `{"id":1,"url":"https://example.com/hook","enabled":true}`
	hookDisabled = `{"id":1,"url":"https://example.com/hook","types":["pet.created"],"enabled":false}`
)

// changes contains requests and the events that they cause. Each event names its actor and contains the
// resource before and after the change. A request that changes nothing causes no event.
var changes = []change{
	{"POST /v1/pets", `{"name":"Rex","categoryId":7,"status":"available"}`, []string{
		`category.created categories/7 ACTOR, {"id":7}, null`, `pet.created pets/1 ACTOR, ` + rexAvailable + `, null`}},
	{"POST /v1/pets", `{"name":"Mia","categoryId":7}`, []string{`pet.created pets/2 ACTOR, ` + mia + `, null`}},
	{"PATCH /v1/pets/2", `{"name":"Leo","status":"sold"}`, []string{`pet.updated pets/2 ACTOR, ` + leo + `, ` + mia}},
	{"PATCH /v1/pets/2", `{"name":"Leo","status":"sold","categoryId":7}`, nil},
	{"PATCH /v1/pets/2", `{"categoryId":-8}`, []string{
		`category.created categories/-8 ACTOR, {"id":-8}, null`, `pet.updated pets/2 ACTOR, ` + leoMoved + `, ` + leo}},
	{"PATCH /v1/pets/2", `{"categoryId":9,"status":"pending"}`, nil}, // a refused request creates no category
	{"DELETE /v1/pets/2", ``, []string{`pet.deleted pets/2 ACTOR, null, ` + leoMoved}},
	{"POST /v1/pets/2/restore", ``, []string{`pet.restored pets/2 ACTOR, ` + leoMoved + `, null`}},
	{"POST /v1/pets/2/restore?again", ``, nil}, // the animal was already restored
	{"DELETE /v1/pets/2", ``, []string{`pet.deleted pets/2 ACTOR, null, ` + leoMoved}},
	{"POST /v1/categories", `{"name":"Dogs"}`, []string{`category.created categories/1 ACTOR, {"id":1,"name":"Dogs"}, null`}},
	{"PUT /v1/categories/1", `{"name":"Cats"}`, []string{
		`category.updated categories/1 ACTOR, {"id":1,"name":"Cats"}, {"id":1,"name":"Dogs"}`}},
	{"PUT /v1/categories/1", `{"name":"Cats"}`, nil},
	{"PUT /v1/categories/5", `{"name":"Mice"}`, []string{`category.created categories/5 ACTOR, {"id":5,"name":"Mice"}, null`}},
	{"DELETE /v1/categories/5", ``, []string{`category.deleted categories/5 ACTOR, null, {"id":5,"name":"Mice"}`}},
	{"DELETE /v1/categories/7", ``, nil},
	{"POST /v1/store/orders", `{"petId":1,"reference":"b 4711"}`, []string{
		`order.placed store/orders/1 ACTOR, ` + placed1 + `, null`, `pet.updated pets/1 ACTOR, ` + rexPending + `, ` + rexAvailable}},
	{"POST /v1/store/orders", `{"petId":1}`, nil},
	{"PATCH /v1/store/orders/1", `{"status":"placed"}`, nil},
	{"PATCH /v1/store/orders/1", `{"reference":"b 4711"}`, nil},
	{"PATCH /v1/store/orders/1", `{"reference":null}`, []string{`order.updated store/orders/1 ACTOR, ` + unnamed1 + `, ` + placed1}},
	{"PATCH /v1/store/orders/1", `{"reference":"b 4711"}`, []string{`order.updated store/orders/1 ACTOR, ` + placed1 + `, ` + unnamed1}},
	{"PATCH /v1/store/orders/1", `{"customer":{"name":"Ann"}}`, []string{`order.updated store/orders/1 ACTOR, ` + placed1 + `, ` + placed1}},
	{"PATCH /v1/store/orders/1", `{"customer":{"name":"Ann"}}`, nil},
	{"DELETE /v1/store/orders/1/customer", ``, []string{`order.updated store/orders/1 ACTOR, ` + placed1 + `, ` + placed1}},
	{"DELETE /v1/store/orders/1/customer", ``, nil},
	{"PATCH /v1/store/orders/1", `{"status":"approved"}`, []string{
		`order.approved store/orders/1 ACTOR, ` + approved1 + `, ` + placed1}},
	{"PATCH /v1/store/orders/1", `{"status":"delivered"}`, []string{
		`order.delivered store/orders/1 ACTOR, ` + delivered1 + `, ` + approved1,
		`pet.updated pets/1 ACTOR, ` + rexSold + `, ` + rexPending}},
	{"POST /v1/store/orders/1/undo", ``, []string{
		`order.updated store/orders/1 ACTOR, ` + approved1 + `, ` + delivered1,
		`pet.updated pets/1 ACTOR, ` + rexPending + `, ` + rexSold}},
	{"POST /v1/store/orders/1/undo?again", ``, nil}, // an undo cannot be undone
	{"PATCH /v1/store/orders/1", `{"status":"delivered"}`, []string{
		`order.delivered store/orders/1 ACTOR, ` + delivered1 + `, ` + approved1,
		`pet.updated pets/1 ACTOR, ` + rexSold + `, ` + rexPending}},
	{"PATCH /v1/pets/1", `{"status":"available"}`, []string{`pet.updated pets/1 ACTOR, ` + rexAvailable + `, ` + rexSold}},
	{"PATCH /v1/pets/1/profile", `{"color":"red","notes":"internal"}`, []string{
		`profile.updated pets/1/profile ACTOR, {"pet":` + rexAvailable + `,"published":false,"color":"red"}, {"pet":` + rexAvailable + `,"published":false}`}},
	{"PATCH /v1/pets/1/profile", `{"color":"red"}`, nil},
	{"PATCH /v1/pets/1/profile", `{"location":"internal"}`, []string{
		`profile.updated pets/1/profile ACTOR, {"pet":` + rexAvailable + `,"published":false,"color":"red"}, {"pet":` + rexAvailable + `,"published":false,"color":"red"}`}},
	{"PATCH /v1/store", `{"name":"Paws","window":{"title":"Animals"}}`, []string{
		`store.updated store ACTOR, {"name":"Paws","kind":"shop","window":{"enabled":false,"title":"Animals"}}, {"kind":"shop","window":{"enabled":false}}`}},
	{"PATCH /v1/store", `{"name":"Paws","phone":null}`, nil},
	{"POST /v1/store/orders", `{"petId":1}`, []string{
		`order.placed store/orders/2 ACTOR, ` + placed2 + `, null`, `pet.updated pets/1 ACTOR, ` + rexPending + `, ` + rexAvailable}},
	{"PATCH /v1/store/orders/2", `{"status":"cancelled"}`, []string{
		`order.cancelled store/orders/2 ACTOR, ` + cancelled2 + `, ` + placed2,
		`pet.updated pets/1 ACTOR, ` + rexAvailable + `, ` + rexPending}},
	{"POST /v1/keys", `{"name":"web","scopes":["pets:read"]}`, []string{`key.created keys/2 ACTOR, ` + webKey + `, null`}},
	{"POST /v1/keys/2/rotate", ``, []string{`key.rotated keys/2 ACTOR, ` + webKey + `, ` + webKey}},
	{"DELETE /v1/keys/2", ``, []string{`key.revoked keys/2 ACTOR, null, ` + webKey}},
	{"DELETE /v1/keys/1", ``, nil}, // the last admin key cannot be revoked
	{"POST /v1/imports", "{\"name\":\"Tom\",\"categoryId\":7}\n{\"name\":\"Jerry\",\"categoryId\":12,\"status\":\"sold\"}", []string{
		`category.created categories/12 ACTOR, {"id":12}, null`,
		`pet.created pets/3 ACTOR, {"id":3,"name":"Tom","categoryId":7}, null`,
		`pet.created pets/4 ACTOR, {"id":4,"name":"Jerry","categoryId":12,"status":"sold"}, null`}},
	{"POST /v1/imports", `{"name":"Tom","categoryId":13,"status":"gone"}`, nil},
	{"POST /v1/imports?dryRun=true", `{"name":"Tom","categoryId":13}`, nil},
	{"POST /v1/webhooks", `{"url":"https://example.com/hook"}`, []string{
		`webhook.created webhooks/1 ACTOR, ` + hookEnabled + `, null`}},
	{"PATCH /v1/webhooks/1", `{"enabled":false,"types":["pet.created"]}`, []string{
		`webhook.updated webhooks/1 ACTOR, ` + hookDisabled + `, ` + hookEnabled}},
	{"PATCH /v1/webhooks/1", `{"enabled":false,"types":["pet.created","pet.created"],"url":"https://example.com/hook"}`, nil},
	{"POST /v1/webhooks/1/rotate", ``, []string{`webhook.updated webhooks/1 ACTOR, ` + hookDisabled + `, ` + hookDisabled}},
	{"POST /v1/webhooks/1/test", ``, nil},
	{"POST /v1/webhooks/1/deliveries/1/redeliver", ``, nil},
	{"DELETE /v1/webhooks/1", ``, []string{`webhook.deleted webhooks/1 ACTOR, null, ` + hookDisabled}},
}

func TestEveryChangeIsRecordedAsAnEvent(t *testing.T) {
	t.Parallel()
	types := map[string]bool{string(shop.OrderExpired): true} // TestExpiredHoldIsRecordedWithoutActor tests this type
	for _, actor := range []string{"configured", "keys/1"} {
		s := newShopWith(t, shoptest.Options{Postgres: actor == "keys/1"}) // each actor is tested on a different engine
		secret := s.key(shop.Admin)                                        // created without the API, so the actor is the system
		if got := s.eventLines(t, 0); len(got) != 1 || !strings.HasPrefix(got[0], "key.created keys/1 system, ") {
			t.Errorf("a key of the command line caused the events %q", got)
		}
		if actor == "configured" {
			secret = adminKey
		}
		s.skipValidation = true // other tests validate these responses
		for i, c := range changes {
			once := fmt.Sprint("Idempotency-Key: ", i)
			s.wantEvents(t, c, actor, bearing(secret), once)
			if strings.HasPrefix(c.request, "POST") { // a retry causes no events
				s.wantEvents(t, change{c.request, c.body, nil}, actor, bearing(secret), once)
			}
			for _, line := range c.events {
				kind, _, _ := strings.Cut(line, " ")
				types[kind] = true
			}
		}
		s.skipValidation = false
		s.eventLines(t, 0) // validates all events against the OpenAPI document
	}
	for _, kind := range shop.EventTypes() {
		if !types[string(kind)] {
			t.Errorf("no change causes %s", kind)
		}
	}
}

// The actor of the events for an expired hold is the system, whichever request detects the expiry.
func TestExpiredHoldIsRecordedWithoutActor(t *testing.T) {
	t.Parallel()
	expired := []string{
		`order.expired store/orders/1 system, {"id":1,"petId":1,"status":"expired"}, {"id":1,"petId":1,"status":"placed"}`,
		`pet.updated pets/1 system, ` + rexAvailable + `, ` + rexPending,
	}
	for _, c := range []change{
		{"GET /v1/pets", ``, expired},
		{"POST /v1/store/orders", `{"petId":1}`, append(expired[:2:2],
			`order.placed store/orders/2 ACTOR, `+placed2+`, null`, `pet.updated pets/1 ACTOR, `+rexPending+`, `+rexAvailable)},
	} {
		s := newShop(t)
		secret := s.key(shop.Admin)
		s.add(`{"name":"Rex","categoryId":7,"status":"available"}`)
		s.do("POST", "/v1/store/orders", `{"petId":1}`).want(t, 201, "")
		s.Clock.Forward(73 * time.Hour)
		s.wantEvents(t, c, "keys/1", bearing(secret))
	}
}
