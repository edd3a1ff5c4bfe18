package httpapi

import (
	"strings"
	"testing"

	"animalstore/internal/shop"
)

func TestIfMatchPreventsLostUpdates(t *testing.T) {
	s := parallelShop(t)
	first := s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`).Header.Get("ETag")
	second := s.do("PATCH", "/v1/pets/1", `{"name":"Max"}`).Header.Get("ETag")
	for _, match := range []string{first, "W/" + second, strings.Trim(second, `"`), `"x", ` + first} {
		s.do("PATCH", "/v1/pets/1", `{"name":"Leo"}`, "If-Match: "+match).wantError(t, 412, shop.PreconditionFailed)
	}
	s.do("PATCH", "/v1/pets/99", `{"name":"Leo"}`, "If-Match: *").wantError(t, 404, shop.NotFound)
	s.do("GET", "/v1/pets/1", "").want(t, 200, `{"id":1,"name":"Max","categoryId":1}`)
	s.do("PATCH", "/v1/pets/1", `{"name":"Leo"}`, `If-Match: "x", `+second).want(t, 200, "")
	s.do("PATCH", "/v1/pets/1", `{"name":"Ada"}`, "If-Match: *").want(t, 200, "")
}

// If-Match is respected for every type of resource.
func TestIfMatchIsNeverIgnored(t *testing.T) {
	s := parallelShop(t)
	s.stockEverything()
	for _, c := range []struct{ method, path, body string }{
		{"DELETE", "/v1/pets/2", ""},
		{"PATCH", "/v1/store/orders/1", `{"status":"approved"}`},
		{"PUT", "/v1/categories/7", `{"name":"Birds"}`},
		{"DELETE", "/v1/categories/7", ""},
		{"PATCH", "/v1/webhooks/1", `{"enabled":false}`},
		{"DELETE", "/v1/webhooks/1", ""},
	} {
		tag := s.do("GET", c.path, "").Header.Get("ETag")
		s.do(c.method, c.path, c.body, `If-Match: "x"`).wantError(t, 412, shop.PreconditionFailed)
		if now := s.do("GET", c.path, "").Header.Get("ETag"); now != tag {
			t.Errorf("%s %s was executed in spite of the wrong tag", c.method, c.path)
		}
		if got := s.do(c.method, c.path, c.body, "If-Match: "+tag); got.StatusCode >= 300 {
			t.Errorf("%s %s with the right tag: %d %s", c.method, c.path, got.StatusCode, got.body)
		}
	}
	s.do("PUT", "/v1/categories/99", `{"name":"Birds"}`, "If-Match: *").wantError(t, 412, shop.PreconditionFailed)
}
