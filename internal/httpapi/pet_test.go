package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func TestValidPetIsCreated(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		for i, c := range []struct{ sent, want string }{ // an empty want means that the response contains what was sent
			{`"name":"Rex","categoryId":7,"status":"available"`, ""},
			{`"name":"Rex","categoryId":9223372036854775807`, ""},
			{`"name":"Rex","categoryId":-9223372036854775808`, ""},
			{`"name":"Rex","categoryId":9007199254740993`, ""}, // beyond 2^53
			{`"name":"Rex","categoryId":7.0`, `"name":"Rex","categoryId":7`},
			{`"name":"Rex","categoryId":7,"id":99,"Name":"x","extra":{"a":[1,null]}`, `"name":"Rex","categoryId":7`},
			{`"name":"\u0052\u00e9x \ud83d\udc08 \"\\","categoryId":7`, `"name":"Réx 🐈 \"\\","categoryId":7`},
			{"\"name\":\"  <b>Rex & Co</b> 👩‍👩‍👧‍👦 \u00a0\u0085\u2028\",\"categoryId\":7", ""},
			{`"name":"` + strings.Repeat("🐈", 200) + `","categoryId":7`, ""},
		} {
			if c.want == "" {
				c.want = c.sent
			}
			got := s.do("POST", "/v1/pets", "{"+c.sent+"}")
			got.want(t, 201, fmt.Sprintf(`{"id":%d,%s}`, i+1, c.want))
			if location := got.Header.Get("Location"); location != fmt.Sprintf("/v1/pets/%d", i+1) {
				t.Errorf("Location is %q", location)
			}
			s.wantStored(t, got.Header.Get("Location"), got)
		}
	})
}

func TestInvalidPetIsRefused(t *testing.T) {
	s := parallelShop(t)
	for _, body := range []string{
		``, `null`, `[{"name":"Rex","categoryId":7}]`, `{"name":"Rex","categoryId":7`, `{"name":"Rex","categoryId":7}x`,
		`{"name":"Rex","categoryId":07}`, "\xef\xbb\xbf" + `{"name":"Rex","categoryId":7}`, "\xff\xfe{\x00}\x00",
		"{\"name\":\"Rex\",\"categoryId\":7,\"x\":\"\xc3\"}", "{\"name\":\"\xed\xa0\x80\",\"categoryId\":7}",
		`{"name":"\ud800","categoryId":7}`, "{\"name\":\"R\nx\",\"categoryId\":7}",
		`{"name":"Rex","name":"Rex","categoryId":7}`, `{"name":"Rex","categoryId":7,"x":{"y":1,"y":2}}`,
		`{"name":"Rex","categoryId":7,"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
	} {
		got := s.do("POST", "/v1/pets", body)
		got.wantError(t, 400, shop.InvalidJSON)
		message := got.message(t)
		if strings.Contains(message, "jsontext") || strings.Contains(message, "unmarshal") || !strings.HasSuffix(message, ".") {
			t.Errorf("the message %q shows internals", message)
		}
	}
	for members, wrong := range map[string]string{
		``: "name categoryId", `"NAME":"Rex","CategoryID":7`: "name categoryId", `"name":"","categoryId":"7"`: "name categoryId",
		`"name":null,"categoryId":7`: "name", `"name":7,"categoryId":7`: "name", `"name":"R\u0000x","categoryId":7`: "name",
		`"name":"Rex","categoryId":null`: "categoryId", `"name":"Rex","categoryId":9223372036854775808`: "categoryId",
		`"name":"Rex","categoryId":7,"status":null`: "status", `"name":"Rex","categoryId":7,"status":"Available"`: "status",
		`"name":"` + strings.Repeat("é", 201) + `","categoryId":7.5,"status":"lost"`: "name categoryId status",
	} {
		s.wantProblems(t, "POST", "/v1/pets", "{"+members+"}", wrong)
	}
	s.do("GET", "/v1/pets", "").want(t, 200, "[]")
}

func TestOnlyUncompressedJSONIsAccepted(t *testing.T) {
	t.Parallel()
	rule := &bodyRule{mediaTypes: []string{"application/json"}}
	for contentType, known := range map[string]bool{
		"": true, "APPLICATION/JSON": true, "application/json;charset=\"UTF-8\"; x=y": true,
		"text/json": false, "application/json; charset": false,
	} {
		for coding, plain := range map[string]bool{"": true, "Identity": true, "gzip": false} {
			h := http.Header{"Content-Type": {contentType}, "Content-Encoding": {coding}}
			if got, want := rule.accepts(h), known && plain; got != want {
				t.Errorf("%v: accepted: %v, want %v", h, got, want)
			}
		}
	}
	if !rule.accepts(http.Header{}) || rule.accepts(http.Header{"Content-Type": {"application/json", "text/plain"}}) {
		t.Error("no type must be accepted, and two types must not")
	}
}

// The limit also applies to a chunked body, which has no Content-Length.
func TestBodySizeLimit(t *testing.T) {
	s := parallelShop(t)
	const body = `{"name":"Rex","categoryId":7}`
	for size, status := range map[int]int{64 << 10: 201, 64<<10 + 1: 413} {
		padded := body + strings.Repeat(" ", size-len(body))
		s.do("POST", "/v1/pets", padded).want(t, status, "")
		body := struct{ io.Reader }{strings.NewReader(padded)}
		request := shoptest.Must(http.NewRequest("POST", s.url+"/v1/pets", body))(t)
		request.Header.Set("Authorization", "Bearer "+adminKey)
		shoptest.Must(s.send(request))(t).want(t, status, "")
	}
}

func TestLocationSurvivesTheRemovalOfGetPet(t *testing.T) {
	s := parallelShop(t, func(c *Config) { c.Today = day("2030-12-05") })
	got := s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":7}`)
	if location := got.Header.Get("Location"); location != "/v1/pets?id=1" {
		t.Errorf("Location is %q", location)
	}
	again := s.do("GET", got.Header.Get("Location"), "")
	again.want(t, 200, `[{"id":1,"name":"Rex","categoryId":7}]`)
	if again.Header.Get("ETag") != got.Header.Get("ETag") {
		t.Error("GET returns another ETag")
	}
}

func TestUpdatePet(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	for _, c := range []struct{ body, want string }{
		{`{"id":9,"unknown":null}`, `{"id":1,"name":"Rex","categoryId":1}`},
		{`{"name":"Žofka 🐈"}`, `{"id":1,"name":"Žofka 🐈","categoryId":1}`},
		{`{"categoryId":7.0,"status":"sold"}`, `{"id":1,"name":"Žofka 🐈","categoryId":7,"status":"sold"}`},
	} {
		got := s.do("PATCH", "/v1/pets/1", c.body)
		got.want(t, 200, c.want)
		s.wantStored(t, "/v1/pets/1", got)
	}
	s.do("GET", "/v1/pets?q=rex", "").want(t, 200, "[]") // the old name is no longer found
	s.do("GET", "/v1/pets?q=žOFKA", "").want(t, 200, `[{"id":1,"name":"Žofka 🐈","categoryId":7,"status":"sold"}]`)
}

// wantStored checks that GET returns the same body and entity tag as the given response.
func (s *testShop) wantStored(t *testing.T, path string, got testResponse) {
	t.Helper()
	again := s.do("GET", path, "")
	again.want(t, 200, strings.TrimSuffix(string(got.body), "\n"))
	if again.Header.Get("ETag") != got.Header.Get("ETag") {
		t.Errorf("%s: the ETag is %q, and was %q", path, again.Header.Get("ETag"), got.Header.Get("ETag"))
	}
}

func TestDeletePet(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	s.add(`{"name":"Mia","categoryId":1}`)
	s.do("DELETE", "/v1/pets/2", "").want(t, 204, "")
	s.do("DELETE", "/v1/pets/2", "").wantError(t, 404, shop.NotFound)
	s.do("GET", "/v1/pets", "").want(t, 200, `[{"id":1,"name":"Rex","categoryId":1}]`)
	s.do("POST", "/v1/pets", `{"name":"Leo","categoryId":1}`).want(t, 201, `{"id":3,"name":"Leo","categoryId":1}`)
}

// Restoring a removed animal brings it back with the same id and ETag. A retry gets the same response.
func TestRestorePet(t *testing.T) {
	s := parallelShop(t)
	const rex = `{"id":1,"name":"Rex 🐶","categoryId":1,"status":"sold"}`
	tag := s.do("POST", "/v1/pets", `{"name":"Rex 🐶","categoryId":1,"status":"sold"}`).Header.Get("ETag")
	s.add(`{"name":"Mia","categoryId":1}`)
	s.do("GET", "/v1/pets", "").want(t, 200, "")
	s.do("POST", "/v1/pets/1/restore", "").wantError(t, 409, shop.PetExists)
	s.do("POST", "/v1/pets/99/restore", "").wantError(t, 404, shop.NotFound)
	s.do("POST", "/v1/pets/x/restore", "").wantError(t, 404, shop.NotFound)
	s.do("DELETE", "/v1/pets/1", "").want(t, 204, "")
	for range 2 {
		restored := s.do("POST", "/v1/pets/1/restore", "", "Idempotency-Key: k").want(t, 200, rex)
		if restored.Header.Get("ETag") != tag {
			t.Errorf("the ETag is %s, want %s as before the removal", restored.Header.Get("ETag"), tag)
		}
	}
	s.do("GET", "/v1/pets", "").want(t, 200, `[{"id":2,"name":"Mia","categoryId":1},`+rex+`]`)
	s.do("GET", "/v1/pets/1", "").want(t, 200, rex)
	s.do("GET", "/v1/store/inventory", "").want(t, 200, `{"available":0,"pending":0,"sold":1,"unspecified":1}`)
	s.add(`{"name":"Leo","categoryId":1}`) // this animal gets a new id
	s.do("GET", "/v1/pets/3", "").want(t, 200, `{"id":3,"name":"Leo","categoryId":1}`)

	for _, path := range []string{"/v1/pets/1", "/v1/pets/2", "/v1/pets/3", "/v1/categories/1"} {
		s.do("DELETE", path, "").want(t, 204, "")
	}
	s.api.Service = s.node(shop.Options{KnownCategories: true})
	s.do("POST", "/v1/pets/1/restore", "").wantError(t, 409, shop.UnknownCategory)
	s.do("GET", "/v1/pets", "").want(t, 200, `[]`)
}

// Every member of an animal that the OpenAPI document describes is decoded, stored, returned and recorded in events. If
// a new member is forgotten in one of these places, this test fails.
func TestEveryPetMemberIsStoredAndReturned(t *testing.T) {
	s := parallelShop(t)
	documented := func(schema string) []string {
		var names []string
		for _, part := range append(s.checks.Doc.Components.Schemas[schema].Value.AllOf, s.checks.Doc.Components.Schemas[schema]) {
			names = append(names, slices.Collect(maps.Keys(part.Value.Properties))...)
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	settable, encoded := documented("NewPet"), []string{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[shop.Pet]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		encoded = append(encoded, name)
	}
	slices.Sort(encoded)
	all := slices.Sorted(slices.Values(append([]string{"id"}, settable...)))
	if !slices.Equal(documented("PetChange"), settable) || !slices.Equal(documented("Pet"), all) || !slices.Equal(encoded, all) {
		t.Errorf("the document has NewPet %q, PetChange %q and Pet %q; shop.Pet has %q",
			settable, documented("PetChange"), documented("Pet"), encoded)
	}

	first, second := map[string]any{}, map[string]any{}
	for _, name := range settable {
		first[name], second[name] = "first", "second" // categoryId and status get other values below
	}
	first["categoryId"], second["categoryId"] = 7.0, 8.0
	first["status"], second["status"] = "available", "pending"
	created := s.do("POST", "/v1/pets", toJSON(t, first))
	first["id"], second["id"] = 1.0, 1.0
	changed := s.do("PATCH", "/v1/pets/1", toJSON(t, second))
	stored := s.do("GET", "/v1/pets/1", "")
	events := parsed[[]struct {
		Data struct{ Current, Previous map[string]any }
	}](t, s.do("GET", "/v1/events?subject=pets/1", ""))
	if len(events) != 2 {
		t.Fatalf("the events are %v, want two", events)
	}
	for what, c := range map[string]struct{ got, want map[string]any }{
		"created":          {parsed[map[string]any](t, created), first},
		"changed":          {parsed[map[string]any](t, changed), second},
		"stored":           {parsed[map[string]any](t, stored), second},
		"first event's":    {events[0].Data.Current, first},
		"second event's":   {events[1].Data.Current, second},
		"event's previous": {events[1].Data.Previous, first},
	} {
		if !maps.Equal(c.got, c.want) {
			t.Errorf("the %s animal is %v, want %v", what, c.got, c.want)
		}
	}
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	return string(shoptest.Must(json.Marshal(value))(t))
}
