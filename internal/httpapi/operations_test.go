package httpapi

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"animalstore/internal/shop"
)

// request is a request that succeeds in a shop that stockEverything has filled.
type request struct{ operation, method, path, body string }

// requestPerOperation returns one request for each operation that requires an API key.
func requestPerOperation() []request {
	return []request{
		{"listPets", "GET", "/v1/pets", ""},
		{"createPet", "POST", "/v1/pets", `{"name":"Rex","categoryId":1}`},
		{"getPet", "GET", "/v1/pets/1", ""},
		{"updatePet", "PATCH", "/v1/pets/1", `{"name":"Rexina"}`},
		{"deletePet", "DELETE", "/v1/pets/2", ""},
		{"listCategories", "GET", "/v1/categories", ""},
		{"createCategory", "POST", "/v1/categories", `{"name":"Dogs"}`},
		{"getCategory", "GET", "/v1/categories/1", ""},
		{"putCategory", "PUT", "/v1/categories/1", `{"name":"Cats"}`},
		{"deleteCategory", "DELETE", "/v1/categories/7", ""},
		{"listOrders", "GET", "/v1/store/orders", ""},
		{"placeOrder", "POST", "/v1/store/orders", `{"petId":1}`},
		{"getOrder", "GET", "/v1/store/orders/1", ""},
		{"updateOrder", "PATCH", "/v1/store/orders/1", `{"status":"approved"}`},
		{"getInventory", "GET", "/v1/store/inventory", ""},
		{"listEvents", "GET", "/v1/events", ""},
		{"importPets", "POST", "/v1/imports", `{"name":"Rex","categoryId":1}`},
		{"exportPetsCsv", "GET", "/v1/exports/pets.csv", ""},
		{"exportPetsNdjson", "GET", "/v1/exports/pets.ndjson", ""},
		{"listKeys", "GET", "/v1/keys", ""},
		{"createKey", "POST", "/v1/keys", `{"name":"x","scopes":["admin"]}`},
		{"getCurrentKey", "GET", "/v1/keys/current", ""},
		{"revokeKey", "DELETE", "/v1/keys/2", ""},
		{"rotateKey", "POST", "/v1/keys/1/rotate", `{}`},
		{"listWebhooks", "GET", "/v1/webhooks", ""},
		{"createWebhook", "POST", "/v1/webhooks", `{"url":"https://example.com/hook"}`},
		{"getWebhook", "GET", "/v1/webhooks/1", ""},
		{"updateWebhook", "PATCH", "/v1/webhooks/1", `{"enabled":false}`},
		{"deleteWebhook", "DELETE", "/v1/webhooks/2", ""},
		{"rotateWebhook", "POST", "/v1/webhooks/1/rotate", `{}`},
		{"testWebhook", "POST", "/v1/webhooks/1/test", ""},
		{"listDeliveries", "GET", "/v1/webhooks/1/deliveries", ""},
		{"redeliver", "POST", "/v1/webhooks/1/deliveries/1/redeliver", ""},
	}
}

// stockEverything creates the resources that requestPerOperation and the examples in the OpenAPI document
// refer to.
func (s *testShop) stockEverything() {
	s.t.Helper()
	for range 3 {
		s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
		s.key(shop.Admin)
	}
	s.do("PUT", "/v1/categories/7", `{"name":"Fish"}`).want(s.t, 201, "")
	s.do("POST", "/v1/store/orders", `{"petId":3}`).want(s.t, 201, "")
	for range 2 {
		s.do("POST", "/v1/webhooks", `{"url":"https://example.com/hook"}`).want(s.t, 201, "")
	}
	s.do("POST", "/v1/webhooks/1/test", "").want(s.t, 202, "")
}

// In every operation, a store failure results in a 500 or 503 without details and changes nothing. Once the
// store works again, so does the operation.
func TestEveryOperationReportsStoreFailures(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stockEverything()
	key := s.key(shop.Admin)
	before := s.snapshot()
	for status, fault := range map[int]error{500: errSecret, 503: shop.UnavailableError(errSecret)} {
		s.do("GET", "/v1/keys/current", "", bearing(key)).want(t, 200, "") // makes the service cache the key
		for _, r := range requestPerOperation() {
			s.Store.FailWith(func(bool) error { return fault })
			got := s.do(r.method, r.path, r.body, bearing(key))
			if got.want(t, status, ""); strings.Contains(string(got.body), "SELECT") {
				t.Errorf("%s shows the cause: %s", r.operation, got.body)
			}
			s.Store.FailWith(nil)
			s.do("GET", "/v1/keys/current", "", bearing(key)).want(t, 200, "")
		}
	}
	if after := s.snapshot(); after != before {
		t.Errorf("something changed:\n%s\n%s", before, after)
	}
	known := map[string]bool{}
	for _, r := range requestPerOperation() {
		known[r.operation] = true
		if got := s.do(r.method, r.path, r.body); got.StatusCode >= 300 {
			t.Errorf("%s returned %d %s", r.operation, got.StatusCode, got.body)
		}
	}
	for _, route := range routes() {
		if hasPathPrefix(route.path, "/v1") && route.scope != noKey && !known[route.operation] {
			t.Errorf("%s is not covered", route.operation)
		}
	}
}

// snapshot returns everything that the API shows. Tests compare snapshots to detect changes.
func (s *testShop) snapshot() string {
	s.t.Helper()
	var all strings.Builder
	for _, path := range []string{"/v1/pets?limit=100", "/v1/categories?limit=100", "/v1/store/orders?limit=100", "/v1/store/inventory",
		"/v1/webhooks", "/v1/webhooks/1/deliveries", "/v1/events?limit=100"} {
		all.Write(s.do("GET", path, "").body)
	}
	return all.String()
}

// Every operation that takes a body refuses invalid bodies.
func TestEveryOperationRefusesInvalidBodies(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stockEverything()
	before := s.snapshot()
	for _, r := range requestPerOperation() {
		if r.body == "" || r.operation == importOperation { // imports use a different format
			continue
		}
		for _, body := range []string{`[]`, `{`, r.body + r.body} {
			s.do(r.method, r.path, body).wantError(t, 400, shop.InvalidJSON)
		}
		s.do(r.method, r.path, r.body, "Content-Type: text/plain").wantError(t, 415, shop.UnsupportedMediaType)
		s.do(r.method, r.path, r.body+strings.Repeat(" ", maxBodyBytes)).wantError(t, 413, shop.PayloadTooLarge)
		got := s.do(r.method, r.path, `{"x":1}`, "Content-Type: application/merge-patch+json")
		if patch := r.method == "PATCH"; patch == (got.StatusCode == 415) {
			t.Errorf("%s returned %d to a merge patch", r.operation, got.StatusCode)
		}
	}
	if after := s.snapshot(); after != before {
		t.Errorf("something changed:\n%s\n%s", before, after)
	}
}

// Every operation refuses invalid members and names each of them.
func TestInvalidMembersAreNamed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stockEverything()
	before := s.snapshot()
	const key, hook = `{"name":"x","scopes":["admin"],`, `{"url":"https://example.com/",`
	for operation, bodies := range map[string]map[string]string{
		"PATCH /v1/pets/1": {
			`{"name":null}`: "name", `{"categoryId":null}`: "categoryId", `{"status":null}`: "status",
			`{"name":"","categoryId":true,"status":"x"}`: "name categoryId status",
		},
		"POST /v1/store/orders": {
			`{}`: "petId", `{"petId":"1"}`: "petId", `{"petId":1,"reference":null}`: "reference",
			`{"petId":1,"reference":" "}`: "reference", `{"petId":1.5,"reference":7}`: "petId reference",
		},
		"PATCH /v1/store/orders/1": {`{}`: "status", `{"status":null}`: "status", `{"status":"Approved"}`: "status"},
		"POST /v1/keys": {
			`{}`: "name scopes", `{"name":null,"scopes":null,"expiresAt":null}`: "name scopes expiresAt",
			`{"name":"a\tb","scopes":[]}`: "name scopes", `{"name":"x","scopes":[1]}`: "scopes",
			`{"name":"x","scopes":["admin","any"]}`:     "scopes", // the mark of a route, not a scope
			key + `"expiresAt":"2020-01-01T00:00:00Z"}`: "expiresAt", key + `"expiresAt":"2099-02-30T00:00:00Z"}`: "expiresAt",
			key + `"expiresAt":"0001-01-01T00:00:00Z"}`:      "expiresAt",
			key + `"expiresAt":"9999-12-31T23:59:59-01:00"}`: "expiresAt", // the year 10000 in UTC
			key + `"expiresAt":"2099-01-31T8:00:00,5Z"}`:     "expiresAt", // time.Parse would accept it
		},
		"POST /v1/keys/1/rotate": {
			`{"overlapSeconds":-1}`: "overlapSeconds", `{"overlapSeconds":2592001}`: "overlapSeconds",
			`{"overlapSeconds":0.5}`: "overlapSeconds", `{"overlapSeconds":null}`: "overlapSeconds",
			`{"overlapSeconds":9223372036854775807}`: "overlapSeconds",
		},
		"POST /v1/webhooks/1/rotate": {`{"overlapSeconds":-1}`: "overlapSeconds"},
		"POST /v1/webhooks":          {`{"types":["x"]}`: "url types", `{"url":null}`: "url", hook + `"types":[null]}`: "types"},
		"PATCH /v1/webhooks/1": {
			`{"url":null}`: "url", `{"url":["https://example.com"]}`: "url", `{"url":"https://me:secret@example.com/"}`: "url",
			hook + `"types":["pet.created","pet.eaten"]}`: "types", `{"types":["webhook.test"]}`: "types", `{"types":"pet.created"}`: "types",
			`{"enabled":null}`: "enabled", `{"url":"x","types":["x"],"enabled":1}`: "enabled url types",
		},
	} {
		method, path, _ := strings.Cut(operation, " ")
		for body, members := range bodies {
			s.wantProblems(t, method, path, body, members)
		}
	}
	if after := s.snapshot(); after != before {
		t.Errorf("something changed:\n%s\n%s", before, after)
	}
}

// wantProblems checks that a body is refused and that the message names exactly the given members.
func (s *testShop) wantProblems(t *testing.T, method, path, body, members string) {
	t.Helper()
	got := s.do(method, path, body)
	got.wantError(t, 400, shop.ValidationFailed)
	problems, _ := strings.CutPrefix(got.message(t), "The body is not valid: ")
	var named []string
	for problem := range strings.SplitSeq(problems, "; ") {
		named = append(named, strings.Fields(problem)[0])
	}
	if strings.Join(named, " ") != members || !strings.HasSuffix(problems, ".") {
		t.Errorf("%s %s %s: the message %q does not name %s", method, path, body, got.message(t), members)
	}
}

// An id that is unknown or not a 64-bit integer results in a 404.
func TestEveryOperationRefusesUnknownIDs(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, r := range requestPerOperation() {
		for _, id := range []string{"99", "-1", "abc", "1.0", "9223372036854775808", "%00", "1%2F"} {
			path := strings.NewReplacer("/1", "/"+id, "/2", "/"+id, "/7", "/"+id).Replace(strings.TrimPrefix(r.path, "/v1"))
			_, valid := parseInt64(id)
			if "/v1"+path == r.path || valid && r.operation == "putCategory" { // which creates the category
				continue
			}
			s.do(r.method, "/v1"+path, r.body).wantError(t, 404, shop.NotFound)
		}
	}
}

// While the first request is still running, a retry waits for the first response, but not forever.
func TestRetryGivesUpWaitingForTheFirstRequest(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stockEverything()
	entered, release := s.Store.HoldWrites()
	var firsts, repeats sync.WaitGroup
	for i, r := range requestPerOperation() {
		if r.method != "POST" {
			continue
		}
		header := fmt.Sprintf("Idempotency-Key: key %d", i)
		firsts.Go(func() {
			if got, err := s.tryDo(r.method, r.path, r.body, header); err != nil || got.StatusCode >= 300 || got.Header.Get("Idempotency-Replayed") != "" {
				t.Errorf("%s: %v %s", r.operation, err, got.body)
			}
		})
		<-entered // wait until the write has started
		repeats.Go(func() {
			if got, err := s.tryDo(r.method, r.path, r.body, header); err != nil || got.StatusCode != 409 || !strings.Contains(string(got.body), string(shop.IdempotencyKeyInUse)) {
				t.Errorf("%s: %v %s", r.operation, err, got.body)
			}
		})
	}
	repeats.Wait()
	release()
	firsts.Wait()
}

func TestProfilesAreServed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, path := range []string{"", "heap", "goroutine?debug=1", "cmdline", "symbol", "profile?seconds=1", "trace?seconds=0.01"} {
		if got := s.do("GET", "/debug/pprof/"+path, ""); got.StatusCode != 200 || len(got.body) == 0 {
			t.Errorf("%s: %d, %d bytes", path, got.StatusCode, len(got.body))
		}
	}
}
