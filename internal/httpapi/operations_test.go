package httpapi

import (
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// request is a request that succeeds in a shop that stockEverything has filled.
type request struct{ operation, method, path, body string }

// requestPerOperation returns one request for each operation that requires an API key.
func requestPerOperation() (all []request) {
	bodies := map[string]string{
		"createPet": `{"name":"Rex","categoryId":1}`, "updatePet": `{"name":"Rexina"}`, "updateProfile": `{"color":"red"}`, "updateStore": `{"name":"Paws"}`, "importPets": `{"name":"Rex","categoryId":1}`,
		"createCategory": `{"name":"Dogs"}`, "putCategory": `{"name":"Cats"}`,
		"placeOrder": `{"petId":1}`, "updateOrder": `{"status":"approved"}`,
		"createKey": `{"name":"x","scopes":["admin"]}`, "rotateKey": `{}`,
		"createWebhook": example, "updateWebhook": `{"enabled":false}`, "rotateWebhook": `{}`,
		addPhotoOperation: onePixel, "updatePhoto": `{"alt":"Rex"}`,
	}
	for _, route := range routes() {
		if !hasPathPrefix(route.path, "/v1") || route.scope == noKey {
			continue
		}
		id := "1"
		if route.operation == "deleteCategory" {
			id = "7" // a category without animals
		} else if route.operation == "restorePet" {
			id = "4" // an animal that was removed
		} else if route.operation == "undoOrder" {
			id = "2" // an order that was approved
		} else if route.method == "DELETE" {
			id = "2" // other requests need the resource with id 1
		}
		path := pathParameter.ReplaceAllString(route.path, id)
		if route.operation == "deletePhoto" {
			path = "/v1/pets/1/photos/2"
		}
		all = append(all, request{route.operation, route.method, path, bodies[route.operation]})
	}
	return all
}

// onePixel is an image.
const onePixel = "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00\x3a\x7e\x9b\x55\x00\x00\x00\x0a\x49\x44\x41\x54\x78\x9c\x63\x60\x00\x00\x00\x02\x00\x01\x48\xaf\xa4\x71\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82"

var pathParameter = regexp.MustCompile(`\{\w+\}`)

// stockEverything creates the resources that requestPerOperation and the examples in the OpenAPI document
// refer to.
func (s *testShop) stockEverything() {
	s.t.Helper()
	for range 3 {
		s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
		s.key(shop.Admin)
	}
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	s.do("DELETE", "/v1/pets/4", "").want(s.t, 204, "")
	s.do("PUT", "/v1/categories/7", `{"name":"Fish"}`).want(s.t, 201, "")
	s.do("POST", "/v1/store/orders", `{"petId":3}`).want(s.t, 201, "")
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	s.do("POST", "/v1/store/orders", `{"petId":5}`).want(s.t, 201, "")
	s.do("PATCH", "/v1/store/orders/2", `{"status":"approved"}`).want(s.t, 200, "")
	for range 2 {
		s.do("POST", "/v1/webhooks", example).want(s.t, 201, "")
	}
	s.do("POST", "/v1/webhooks/1/test", "").want(s.t, 202, "")
	for range 2 {
		s.do("POST", "/v1/pets/1/photos", onePixel).want(s.t, 201, "")
	}
}

// If the store fails, every operation responds with a 500 or 503 without details and changes nothing. Once the store
// works again, so does the operation.
func TestEveryOperationReportsStoreFailures(t *testing.T) {
	s := parallelShop(t)
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
	for _, r := range requestPerOperation() {
		if got := s.do(r.method, r.path, r.body); got.StatusCode >= 300 {
			t.Errorf("%s returned %d %s", r.operation, got.StatusCode, got.body)
		}
	}
}

// snapshot returns everything that the API shows. Tests compare snapshots to detect changes.
func (s *testShop) snapshot() string {
	s.t.Helper()
	var all strings.Builder
	for _, path := range []string{"/v1/pets?limit=100", "/v1/categories?limit=100", "/v1/store/orders?limit=100",
		"/v1/store/inventory", "/v1/store", "/v1/webhooks", "/v1/webhooks/1/deliveries", "/v1/events?limit=100"} {
		all.Write(s.do("GET", path, "").body)
	}
	return all.String()
}

// Every operation that takes a body refuses invalid bodies and names each invalid member.
func TestEveryOperationRefusesInvalidBodies(t *testing.T) {
	s := parallelShop(t)
	s.stockEverything()
	before := s.snapshot()
	for _, r := range requestPerOperation() {
		if r.body == "" || r.operation == importOperation || r.operation == addPhotoOperation { // they use different formats
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
	const key, hook = `{"name":"x","scopes":["admin"],`, `{"url":"https://example.com/",`
	// For each operation, the map lists invalid members and bodies that contain them.
	for operation, invalid := range map[string]map[string][]string{
		"PATCH /v1/pets/1": {
			"name": {`{"name":null}`}, "categoryId": {`{"categoryId":null}`}, "status": {`{"status":null}`},
			"name categoryId status": {`{"name":"","categoryId":true,"status":"x"}`},
		},
		"POST /v1/store/orders": {
			"petId": {`{}`, `{"petId":"1"}`}, "reference": {`{"petId":1,"reference":null}`, `{"petId":1,"reference":" "}`},
			"petId reference": {`{"petId":1.5,"reference":7}`},
		},
		"PATCH /v1/store/orders/1": {
			"status": {`{"status":null}`, `{"status":"Approved"}`}, "reference": {`{"reference":""}`, `{"reference":7}`},
			"holdExpiresAt": {`{"holdExpiresAt":null}`, `{"holdExpiresAt":"tomorrow"}`, `{"holdExpiresAt":"2020-01-01T00:00:00Z"}`,
				`{"holdExpiresAt":"9999-12-31T23:59:59Z"}`, `{"holdExpiresAt":"` + time.Now().Add(time.Hour).Format(time.RFC3339) + `","status":"placed"}`},
			"status reference holdExpiresAt": {`{"status":"x","reference":"a\tb","holdExpiresAt":1}`},
		},
		"POST /v1/keys": {
			"name scopes":           {`{}`, `{"name":"a\tb","scopes":[]}`},
			"name scopes expiresAt": {`{"name":null,"scopes":null,"expiresAt":null}`},
			// "any" marks routes that need no particular scope. It is not a scope of keys.
			"scopes": {`{"name":"x","scopes":[1]}`, `{"name":"x","scopes":["admin","any"]}`},
			"expiresAt": {key + `"expiresAt":"2020-01-01T00:00:00Z"}`, key + `"expiresAt":"2099-02-30T00:00:00Z"}`,
				// In UTC, the second of these times is in the year 10000.
				key + `"expiresAt":"0001-01-01T00:00:00Z"}`, key + `"expiresAt":"9999-12-31T23:59:59-01:00"}`,
				key + `"expiresAt":"2099-01-31T8:00:00,5Z"}`}, // time.Parse would accept this time
		},
		"POST /v1/keys/1/rotate": {"overlapSeconds": {`{"overlapSeconds":-1}`, `{"overlapSeconds":2592001}`,
			`{"overlapSeconds":0.5}`, `{"overlapSeconds":null}`, `{"overlapSeconds":9223372036854775807}`}},
		"POST /v1/webhooks/1/rotate": {"overlapSeconds": {`{"overlapSeconds":-1}`}},
		"POST /v1/webhooks":          {"url types": {`{"types":["x"]}`}, "url": {`{"url":null}`}, "types": {hook + `"types":[null]}`}},
		"PATCH /v1/webhooks/1": {
			"url":     {`{"url":null}`, `{"url":["https://example.com"]}`, `{"url":"https://me:secret@example.com/"}`},
			"types":   {hook + `"types":["pet.created","pet.eaten"]}`, `{"types":["webhook.test"]}`, `{"types":"pet.created"}`},
			"enabled": {`{"enabled":null}`}, "enabled url types": {`{"url":"x","types":["x"],"enabled":1}`},
		},
	} {
		method, path, _ := strings.Cut(operation, " ")
		for members, bodies := range invalid {
			for _, body := range bodies {
				s.wantProblems(t, method, path, body, members)
			}
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
	s := parallelShop(t)
	for _, r := range requestPerOperation() {
		for _, id := range []string{"99", "-1", "abc", "1.0", "9223372036854775808", "%00", "1%2F"} {
			path := strings.NewReplacer("/1", "/"+id, "/2", "/"+id, "/7", "/"+id).Replace(strings.TrimPrefix(r.path, "/v1"))
			_, valid := parseInt64(id)
			// putCategory is skipped for a valid id, because it creates the category if there is none.
			if "/v1"+path == r.path || valid && r.operation == "putCategory" {
				continue
			}
			s.do(r.method, "/v1"+path, r.body).wantError(t, 404, shop.NotFound)
		}
	}
}

// While the first request is still running, a retry waits for the first response, but not forever.
func TestRetryGivesUpWaitingForTheFirstRequest(t *testing.T) {
	s := parallelShop(t)
	s.stockEverything()
	entered, release := s.Store.HoldWrites()
	var firsts, repeats sync.WaitGroup
	for _, r := range requestPerOperation() {
		if r.method != "POST" {
			continue
		}
		send := func(code shop.Code) { // code is the expected error, or "" if the request must succeed
			got, err := s.tryDo(r.method, r.path, r.body, "Idempotency-Key: "+r.operation)
			if err != nil || (got.StatusCode < 300) != (code == "") || !strings.Contains(string(got.body), string(code)) ||
				got.Header.Get("Idempotency-Replayed") != "" {
				t.Errorf("%s: %v %s, want %q", r.operation, err, got.body, code)
			}
		}
		firsts.Go(func() { send("") })
		<-entered // wait until the write has started
		repeats.Go(func() { send(shop.IdempotencyKeyInUse) })
	}
	repeats.Wait()
	release()
	firsts.Wait()
}

func TestProfilesAreServed(t *testing.T) {
	s := parallelShop(t)
	for _, path := range []string{"", "heap", "goroutine?debug=1", "cmdline", "symbol", "profile?seconds=1", "trace?seconds=0.01"} {
		if got := s.do("GET", "/debug/pprof/"+path, ""); got.StatusCode != 200 || len(got.body) == 0 {
			t.Errorf("%s: %d, %d bytes", path, got.StatusCode, len(got.body))
		}
	}
}
