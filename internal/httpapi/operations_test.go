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

// The requests in these tests cover every operation, and each of them succeeds.
func TestEveryOperationWorks(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stockEverything()
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

// In every operation, a store failure results in a 500 or 503 without details and changes nothing.
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
		s.do(r.method, r.path, `[]`).wantError(t, 400, shop.InvalidJSON)
		s.do(r.method, r.path, `{`).wantError(t, 400, shop.InvalidJSON)
		s.do(r.method, r.path, r.body+r.body).wantError(t, 400, shop.InvalidJSON)
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

// An id that is unknown or not a 64-bit integer results in a 404.
func TestEveryOperationRefusesUnknownIDs(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, r := range requestPerOperation() {
		for _, id := range []string{"99", "0", "-1", "abc", "1.0", "9223372036854775807", "9223372036854775808", "%00", "1%2F"} {
			path := strings.NewReplacer("/1", "/"+id, "/2", "/"+id, "/7", "/"+id).Replace(strings.TrimPrefix(r.path, "/v1"))
			if "/v1"+path == r.path || r.operation == "putCategory" && !strings.ContainsAny(id, "abc.%") && len(id) < 19 {
				continue
			}
			if r.operation == "putCategory" && id == "9223372036854775807" {
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

// A retry that arrives while the first request is still running gets the first response.
func TestRetryWaitsForTheFirstResponse(t *testing.T) {
	onBothEngines(t, wantOneExecution)
}

func wantOneExecution(t *testing.T, s *testShop) {
	entered, release := s.Store.HoldWrites()
	const clients = 20
	bodies := make(chan string, clients)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			got, err := s.tryDo("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`, "Idempotency-Key: once")
			if err != nil || got.StatusCode != 201 {
				t.Errorf("%v %s", err, got.body)
			}
			bodies <- string(got.body)
		})
	}
	<-entered
	release()
	wg.Wait()
	close(bodies)
	for body := range bodies {
		if body != "{\"id\":1,\"name\":\"Rex\",\"categoryId\":1}\n" {
			t.Errorf("got %s", body)
		}
	}
	if n := len(s.do("GET", "/v1/pets", "").pets(t)); n != 1 {
		t.Errorf("there are %d animals", n)
	}
}
