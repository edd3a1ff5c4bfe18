package httpapi

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// secretMember matches a JSON member with a secret that is shown only once.
var secretMember = regexp.MustCompile(`,"(key|secret)":"(ask_|whsec_)[^"]+"`)

// A POST with an Idempotency-Key is executed only once. A retry gets the first response again, but secrets are removed
// from it.
func TestEveryPostIsIdempotent(t *testing.T) {
	s := parallelShop(t)
	s.stockEverything()
	for _, r := range requestPerOperation() {
		if r.method != "POST" {
			continue
		}
		key := "Idempotency-Key: " + r.operation
		first := s.do(r.method, r.path, r.body, key)
		if first.StatusCode >= 300 || first.Header.Get("Idempotency-Replayed") != "" {
			t.Fatalf("%s: %d %s", r.operation, first.StatusCode, first.body)
		}
		state := s.snapshot() + string(s.do("GET", "/v1/keys", "").body)
		again := s.do(r.method, r.path, r.body, `Idempotency-Key: "`+r.operation+`"`) // the quotes make no difference
		again.want(t, first.StatusCode, strings.TrimSuffix(secretMember.ReplaceAllString(string(first.body), ""), "\n"))
		again.wantHeaders(t, "Idempotency-Replayed: true", "Location: "+first.Header.Get("Location"), "ETag: "+first.Header.Get("ETag"))
		if after := s.snapshot() + string(s.do("GET", "/v1/keys", "").body); after != state {
			t.Errorf("%s: the retry changed something:\n%s\n%s", r.operation, state, after)
		}
		if r.body != "" {
			s.do(r.method, r.path, r.body+" ", key).wantError(t, 422, shop.IdempotencyKeyReused)
		}
		s.do(r.method, r.path, r.body, `Idempotency-Key: "`).wantError(t, 400, shop.InvalidParameter)
		// The idempotency key can be used only with the same path and query.
		for _, path := range []string{r.path + "?x=1", "/v1/categories", "/v1/pets"} {
			if path != r.path {
				s.do("POST", path, r.body, key).wantError(t, 422, shop.IdempotencyKeyReused)
			}
		}
	}
}

// Each API key has its own idempotency keys, so two API keys can use the same one. An API key keeps its idempotency
// keys when it is rotated.
func TestIdempotencyKeyBelongsToOneAPIKey(t *testing.T) {
	s := parallelShop(t)
	one, other := s.key(shop.PetsWrite), s.key(shop.PetsWrite)
	post := func(secret string) testResponse {
		return s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`, "Idempotency-Key: same", bearing(secret))
	}
	post(one).want(t, 201, `{"id":1,"name":"Rex","categoryId":1}`)
	post(other).want(t, 201, `{"id":2,"name":"Rex","categoryId":1}`)
	post(adminKey).want(t, 201, `{"id":3,"name":"Rex","categoryId":1}`)
	rotated := s.do("POST", "/v1/keys/1/rotate", "").issued(t).Key
	post(rotated).want(t, 201, `{"id":1,"name":"Rex","categoryId":1}`)
}

// Only successful responses are stored, so a failed request can be sent again and may then succeed.
func TestFailedRequestMayBeSentAgain(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	place := func() testResponse { return s.do("POST", "/v1/store/orders", `{"petId":1}`, "Idempotency-Key: k") }
	place().wantError(t, 409, shop.PetNotAvailable)
	s.do("PATCH", "/v1/pets/1", `{"status":"available"}`).want(t, 200, "")
	place().want(t, 201, "")
	s.do("PATCH", "/v1/store/orders/1", `{"status":"cancelled"}`).want(t, 200, "")
	if again := place(); again.Header.Get("Idempotency-Replayed") != "true" || again.order(t).Status != shop.Placed {
		t.Errorf("the retry returned %s", again.body)
	}
	attempts := 0
	s.Store.FailWith(func(bool) error {
		attempts++
		return shop.UnavailableError(errSecret)
	})
	s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`, "Idempotency-Key: k3").wantError(t, 503, shop.Unavailable)
	s.Store.FailWith(nil)
	if attempts != 1 {
		t.Errorf("a store that is unavailable was asked %d times, so the client would wait that many times as long", attempts)
	}
	s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`, "Idempotency-Key: k3").want(t, 201, "")
}

// A retry gets the stored response even if the request has become invalid in the meantime.
func TestRetryOfARequestThatHasBecomeInvalid(t *testing.T) {
	s := parallelShop(t)
	body := fmt.Sprintf(`{"name":"x","scopes":["admin"],"expiresAt":%q}`, s.Clock.Now().Add(time.Hour).Format(time.RFC3339Nano))
	s.do("POST", "/v1/keys", body, "Idempotency-Key: k").want(t, 201, "")
	s.Clock.Forward(time.Hour)
	s.do("POST", "/v1/keys", body, "Idempotency-Key: other").wantError(t, 400, shop.ValidationFailed)
	s.do("POST", "/v1/keys", body, "Idempotency-Key: k").want(t, 201, "")
}

func TestIdempotencyKeyForms(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 255)
	for field, want := range map[string]string{
		"k": "k", `"k"`: "k", `"a \"b\" \\c"`: `a "b" \c`, "a b": "a b", `a"b`: `a"b`, "~!@": "~!@", long: long, `"` + long + `"`: long,
		"": "", `""`: "", `"k`: "", `"k"x`: "", `"a\b"`: "", `"a\`: "", "ž": "", "a\tb": "", long + "k": "",
	} {
		got, err := idempotencyKey([]string{field})
		if (err == nil) != (want != "") || got != want {
			t.Errorf("%q is %q (%v), want %q", field, got, err, want)
		}
	}
	if key, err := idempotencyKey([]string{"a", "a"}); err == nil {
		t.Errorf("two keys were accepted as %q", key)
	}
	s := newShop(t)
	empty := "POST /v1/pets HTTP/1.1\r\nHost: x\r\n" + keyLine + "Idempotency-Key:\r\nContent-Length: 2\r\n\r\n{}"
	s.exchange(t, empty).wantError(t, 400, shop.InvalidParameter)
	// The Idempotency-Key header is ignored unless the method is POST.
	s.do("GET", "/v1/pets", "", `Idempotency-Key: "`).want(t, 200, "[]")
}
