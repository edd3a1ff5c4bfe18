package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// This file tests the interface that clients were promised, using only HTTP. The section numbers are those of the
// specification of that interface. Everything else that the service offers is tested elsewhere.

// fieldsOf returns the sorted names of an object's members, each followed by "string" or "integer".
func fieldsOf(t *testing.T, object json.RawMessage) string {
	t.Helper()
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &values); err != nil {
		t.Fatalf("%s is not an object: %v", object, err)
	}
	kinds := map[bool]string{true: "string", false: "integer"}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		isText := values[name][0] == '"'
		if _, err := strconv.ParseInt(string(values[name]), 10, 64); !isText && err != nil {
			t.Errorf("%s is %s, neither a string nor a 64-bit integer", name, values[name])
		}
		all = append(all, name+" "+kinds[isText])
	}
	return strings.Join(all, ", ")
}

// Section 2 of the specification: resources and their fields.
func TestInterfaceFields(t *testing.T) {
	s := parallelShop(t)
	const withStatus, withoutStatus = "categoryId integer, id integer, name string, status string", "categoryId integer, id integer, name string"
	for _, c := range []struct{ sent, want string }{
		{`{"name":"Rex","categoryId":7,"status":"available"}`, withStatus},
		{`{"name":"Rex","categoryId":7,"status":"pending"}`, withStatus},
		{`{"name":"Rex","categoryId":7,"status":"sold"}`, withStatus},
		{`{"name":"Rex","categoryId":7}`, withoutStatus}, // a status has no default
		{`{"name":"Rex","categoryId":9223372036854775807}`, withoutStatus},
		{`{"name":"Rex","categoryId":-9223372036854775808}`, withoutStatus},
		{`{"id":999,"name":"Rex","categoryId":7}`, withoutStatus}, // the service assigns the id
	} {
		created := s.do("POST", "/v1/pets", c.sent).want(t, 201, "")
		pet := parsed[map[string]json.RawMessage](t, created)
		id := string(pet["id"])
		if got := fieldsOf(t, created.body); got != c.want || id == "999" {
			t.Errorf("%s: got a Pet with %s and the id %s, want %s", c.sent, got, id, c.want)
		}
		for name, value := range parsed[map[string]json.RawMessage](t, testResponse{body: []byte(c.sent)}) {
			if name != "id" && string(pet[name]) != string(value) {
				t.Errorf("%s: %s is returned as %s", c.sent, name, pet[name])
			}
		}
		fetched := s.do("GET", "/v1/pets/"+id, "").want(t, 200, "")
		listed := parsed[[]json.RawMessage](t, s.do("GET", "/v1/pets", ""))[0]
		for where, got := range map[string]string{"fetched": strings.TrimSpace(string(fetched.body)), "listed": string(listed)} {
			if want := strings.TrimSpace(string(created.body)); got != want {
				t.Errorf("the animal %s is %s as %s", want, where, got)
			}
		}
	}
	ids := map[int64]bool{}
	for _, pet := range s.do("GET", "/v1/pets", "").pets(t) {
		ids[pet.ID] = true
	}
	if len(ids) != 7 {
		t.Errorf("7 animals have %d different ids", len(ids))
	}
	s.do("GET", "/v1/pets/999", "").want(t, 404, "")
	if got := fieldsOf(t, s.do("GET", "/v1/pets/999", "").body); got != "code string, message string, status integer" {
		t.Errorf("an Error has %s", got)
	}
}

// Sections 3 and 4.1 of the specification: the status may be set on creation, and lists can be filtered by status.
func TestInterfaceList(t *testing.T) {
	s := parallelShop(t)
	s.do("GET", "/v1/pets", "").want(t, 200, "[]").wantHeaders(t, "Content-Type: application/json")
	for i := range 101 {
		status := []string{`,"status":"available"`, `,"status":"pending"`, `,"status":"sold"`, ""}[i%4]
		s.add(fmt.Sprintf(`{"name":"Rex %d","categoryId":1%s}`, i, status))
	}
	for query, want := range map[string]int{
		"": 20, "?limit=1": 1, "?limit=20": 20, "?limit=99": 99, "?limit=100": 100,
		"?status=available&limit=100": 26, "?status=pending&limit=100": 25, "?status=sold&limit=100": 25, "?status=sold": 20, "?status=sold&limit=3": 3,
	} {
		pets := s.do("GET", "/v1/pets"+query, "").want(t, 200, "").pets(t)
		if len(pets) != want {
			t.Errorf("GET /pets%s returned %d animals, want %d", query, len(pets), want)
		}
		_, status, filtered := strings.Cut(query, "status=")
		status, _, _ = strings.Cut(status, "&")
		for _, pet := range pets {
			if filtered && string(pet.Status) != status {
				t.Errorf("GET /pets%s returned an animal that is %q", query, pet.Status)
			}
		}
	}
	// Section 8 of the specification: parameters with invalid values are refused.
	for _, query := range []string{"limit=0", "limit=101", "limit=-1", "limit=x", "limit=", "limit=1.5", "status=Sold", "status=", "status=none"} {
		s.do("GET", "/v1/pets?"+query, "").wantError(t, 400, shop.InvalidParameter)
	}
	// The pages together contain all animals.
	seen := 0
	for next := "/v1/pets"; next != ""; {
		page := s.do("GET", next, "")
		seen += len(page.pets(t))
		next = page.link("next")
	}
	if seen != 101 {
		t.Errorf("all pages together have %d animals, want 101", seen)
	}
}

// Section 4.2 of the specification: add an animal.
func TestInterfaceCreate(t *testing.T) {
	s := parallelShop(t)
	s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`).want(t, 201, `{"id":1,"name":"Rex","categoryId":1}`).
		wantHeaders(t, "Content-Type: application/json", "Location: /v1/pets/1")
	for _, body := range []string{
		``, `{}`, `[]`, `null`, `"Rex"`, `{"name":"Rex"}`, `{"categoryId":1}`, // missing required fields
		`{"name":7,"categoryId":1}`, `{"name":null,"categoryId":1}`, `{"name":"","categoryId":1}`, // invalid values
		`{"name":"Rex","categoryId":"1"}`, `{"name":"Rex","categoryId":1.5}`, `{"name":"Rex","categoryId":null}`,
		`{"name":"Rex","categoryId":9223372036854775808}`, `{"name":"Rex","categoryId":true}`,
		`{"name":"Rex","categoryId":1,"status":"Available"}`, `{"name":"Rex","categoryId":1,"status":""}`,
		`{"name":"Rex","categoryId":1,"status":null}`, `{"name":"Rex","categoryId":1,"status":1}`, `{"name":"Rex","categoryId":1`,
	} {
		got := s.do("POST", "/v1/pets", body).want(t, 400, "")
		if e := parsed[errorBody](t, got); e.Status != 400 || e.Code == "" || e.Message == "" {
			t.Errorf("%s: got %s", body, got.body)
		}
	}
	s.do("GET", "/v1/pets", "").want(t, 200, `[{"id":1,"name":"Rex","categoryId":1}]`)
}

// Sections 4.3 and 9 of the specification: getting an animal is deprecated, but works until it is removed.
func TestInterfaceGet(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1,"status":"sold"}`)
	s.do("GET", "/v1/pets/1", "").want(t, 200, `{"id":1,"name":"Rex","categoryId":1,"status":"sold"}`).
		wantHeaders(t, "Content-Type: application/json", "Sunset: Thu, 05 Dec 2030 00:00:00 GMT")
	for _, id := range []string{"2", "0", "-1", "9223372036854775807", "9223372036854775808", "x", "1.0", "%20"} {
		s.do("GET", "/v1/pets/"+id, "").wantError(t, 404, shop.NotFound)
	}
	// The list with its status filter replaces the deprecated operation.
	s.do("GET", "/v1/pets?status=sold", "").want(t, 200, `[{"id":1,"name":"Rex","categoryId":1,"status":"sold"}]`)
}

// Sections 5 and 7 of the specification: every operation requires a key, and every error has an Error body.
func TestInterfaceAuthentication(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	for _, operation := range []string{"GET /v1/pets", "POST /v1/pets", "GET /v1/pets/1", "GET /v1/pets/999", "POST /v1/pets?x", "GET /v1/store/orders"} {
		method, path, _ := strings.Cut(operation, " ")
		s.do(method, path, "", "Authorization: ").wantError(t, 401, shop.MissingAPIKey)
		for _, value := range []string{"Bearer", "Bearer x", "Bearer " + adminKey + "x", "Basic " + adminKey, adminKey, "Bearer " + strings.ToUpper(adminKey)} {
			s.do(method, path, `{"name":"Rex","categoryId":1}`, "Authorization: "+value).wantError(t, 401, shop.InvalidAPIKey)
		}
	}
	s.do("GET", "/v1/pets", "", "Authorization: bearer "+adminKey).want(t, 200, `[{"id":1,"name":"Rex","categoryId":1}]`)
}

// Sections 4.4 and 9 of the specification: there is an endpoint for orders, the version is in the path and in the
// OpenAPI document, and the document marks the deprecated operation.
func TestInterfaceDescription(t *testing.T) {
	s := parallelShop(t)
	s.do("GET", "/v1/store/orders", "").want(t, 200, "[]")
	s.do("GET", "/pets", "").wantError(t, 404, shop.NotFound)
	s.do("GET", "/v2/pets", "").wantError(t, 404, shop.NotFound)
	doc := shoptest.Must(openapi3.NewLoader().LoadFromData(s.do("GET", "/v1/openapi.json", "").body))(t)
	if doc.Info.Version != "1.0.0" || !strings.HasSuffix(doc.Servers[0].URL, "/v1") {
		t.Errorf("the description has the version %s and the server %s", doc.Info.Version, doc.Servers[0].URL)
	}
	list, get := doc.Paths.Find("/pets").Get, doc.Paths.Find("/pets/{petId}").Get
	names := []string{list.OperationID, doc.Paths.Find("/pets").Post.OperationID, get.OperationID}
	if !slices.Equal(names, []string{"listPets", "createPet", "getPet"}) || !get.Deprecated || list.Deprecated {
		t.Errorf("the operations are %v; getPet is deprecated: %v", names, get.Deprecated)
	}
	limit := list.Parameters.GetByInAndName("query", "limit").Schema.Value
	if *limit.Min != 1 || *limit.Max != 100 || limit.Default != float64(20) {
		t.Errorf("the description limits pages to %v to %v, by default %v", *limit.Min, *limit.Max, limit.Default)
	}
	pet, newPet := doc.Components.Schemas["Pet"].Value, doc.Components.Schemas["NewPet"].Value
	statuses := doc.Components.Schemas["PetStatus"].Value.Enum
	if pet == nil || newPet == nil || !slices.Equal(newPet.Required, []string{"name", "categoryId"}) ||
		!slices.Equal(statuses, []any{"available", "pending", "sold"}) {
		t.Errorf("the description says that NewPet requires %v and that a status is one of %v", newPet.Required, statuses)
	}
}
