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
}

// The If-None-Match header can restrict a PUT to creating a category, and If-Match can restrict it to renaming one. A
// refusal says which of the two was not possible.
func TestPutOnlyCreatesOrOnlyRenames(t *testing.T) {
	s := parallelShop(t)
	const path, dogs = "/v1/categories/7", `{"name":"Dogs"}`
	refused := func(message string, conditions ...string) {
		t.Helper()
		if got := s.do("PUT", path, dogs, conditions...).wantError(t, 412, shop.PreconditionFailed).message(t); !strings.HasPrefix(got, message) {
			t.Errorf("%q: the message is %q", conditions, got)
		}
	}
	const missing, excluded, changed = "There is no category with the id 7 to rename;",
		"Category 7 exists in a state that If-None-Match excludes;", "The resource is not in the expected state;"
	refused(missing, "If-Match: *")
	refused(missing, `If-Match: "x"`)
	refused(missing, "If-Match: *", "If-None-Match: *")
	tag := s.do("PUT", path, dogs, "If-None-Match: *").want(t, 201, "").Header.Get("ETag")
	refused(excluded, "If-None-Match: *") // refused even if nothing would change
	refused(excluded, "If-None-Match: "+tag)
	refused(excluded, `If-None-Match: "x", W/`+tag)
	refused(excluded, "If-Match: *", "If-None-Match: *")
	refused(changed, `If-Match: "x"`, `If-None-Match: "x"`)
	s.do("PUT", path, `{"name":"Cats"}`, "If-Match: *", `If-None-Match: "x"`).want(t, 200, "")
	refused(changed, "If-Match: "+tag)
	s.do("PUT", path, dogs, "If-None-Match: "+s.do("GET", "/v1/categories", "").Header.Get("ETag")).want(t, 200, "")
	s.do("PUT", "/v1/categories/8", dogs, `If-None-Match: "x"`).want(t, 201, "")
}

// A request for a resource that does not exist gets a 404, whatever condition its headers contain.
func TestConditionOnAMissingResourceIsNotFound(t *testing.T) {
	s := parallelShop(t)
	for _, condition := range []string{"If-Match: *", `If-Match: "x"`, "If-None-Match: *", `If-None-Match: "x"`} {
		for path, body := range map[string]string{
			"/v1/pets/99": `{}`, "/v1/store/orders/99": `{"status":"cancelled"}`, "/v1/webhooks/99": `{}`,
		} {
			s.do("PATCH", path, body, condition).wantError(t, 404, shop.NotFound)
		}
		for _, path := range []string{"/v1/pets/99", "/v1/categories/99", "/v1/webhooks/99"} {
			s.do("DELETE", path, "", condition).wantError(t, 404, shop.NotFound)
		}
	}
}

// Every response that contains a single resource has the resource's entity tag, which If-Match accepts.
func TestResponsesHaveTheTagThatIfMatchAccepts(t *testing.T) {
	s := parallelShop(t)
	for _, c := range []struct{ method, path, body, resource, change string }{
		{"POST", "/v1/pets", `{"name":"Rex","categoryId":1}`, "/v1/pets/1", `{}`},
		{"PATCH", "/v1/pets/1", `{"name":"Max"}`, "/v1/pets/1", `{}`},
		{"POST", "/v1/categories", `{"name":"Dogs"}`, "/v1/categories/2", `{"name":"Dogs"}`},
		{"PUT", "/v1/categories/2", `{"name":"Cats"}`, "/v1/categories/2", `{"name":"Cats"}`},
		{"PUT", "/v1/categories/3", `{"name":"Fish"}`, "/v1/categories/3", `{"name":"Fish"}`},
		{"POST", "/v1/webhooks", example, "/v1/webhooks/1", `{}`},
		{"PATCH", "/v1/webhooks/1", `{"enabled":false}`, "/v1/webhooks/1", `{}`},
		{"POST", "/v1/webhooks/1/rotate", `{}`, "/v1/webhooks/1", `{}`},
	} {
		tag := s.do(c.method, c.path, c.body).Header.Get("ETag")
		s.do("GET", c.resource, "").wantHeaders(t, "ETag: "+tag)
		method := "PATCH"
		if strings.HasPrefix(c.resource, "/v1/categories") {
			method = "PUT"
		}
		s.do(method, c.resource, c.change, "If-Match: "+tag).want(t, 200, "")
		s.do(method, c.resource, c.change, "If-None-Match: "+tag).wantError(t, 412, shop.PreconditionFailed)
	}
}
