package httpapi

import (
	"strings"
	"testing"

	"animalstore/internal/shop"
)

func TestCategoryLifecycle(t *testing.T) {
	s := parallelShop(t)
	const smallest = "/v1/categories/-9223372036854775808"
	s.add(`{"name":"Rex","categoryId":2}`)
	s.add(`{"name":"Rex","categoryId":-5}`)
	for _, c := range []struct {
		method, path, body string
		status             int
		want, location     string
	}{
		{"GET", "/v1/categories", "", 200, `[{"id":-5},{"id":2}]`, ""},
		{"POST", "/v1/categories", `{"name":"Dogs","id":77}`, 201, `{"id":1,"name":"Dogs"}`, "/v1/categories/1"},
		{"PUT", "/v1/categories/2", `{"name":"Rabbits"}`, 200, `{"id":2,"name":"Rabbits"}`, ""},
		{"PUT", smallest, `{"name":"Dragons"}`, 201, `{"id":-9223372036854775808,"name":"Dragons"}`, smallest},
		{"DELETE", smallest, "", 204, "", ""},
	} {
		s.do(c.method, c.path, c.body).want(t, c.status, c.want).wantHeaders(t, "Location: "+c.location)
	}
	s.add(`{"name":"Rex","categoryId":1}`)
	s.do("DELETE", "/v1/categories/1", "").wantError(t, 409, shop.CategoryInUse)
	for _, body := range []string{`{}`, `{"name":" "}`, `{"name":7}`} {
		s.do("POST", "/v1/categories", body).wantError(t, 400, shop.ValidationFailed)
		s.do("PUT", "/v1/categories/1", body).wantError(t, 400, shop.ValidationFailed)
	}
	tag := s.do("GET", "/v1/categories/1", "").Header.Get("ETag")
	s.do("GET", "/v1/categories/1", "", "If-None-Match: "+tag).want(t, 304, "")
}

// If only known categories are allowed, the error message for an unknown category names categoryId and all other
// invalid members.
func TestUnknownCategoryIsNamed(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	s.api.Service = s.node(shop.Options{KnownCategories: true})
	for _, body := range []string{`{"name":"Mia","categoryId":2}`, `{"name":"","categoryId":2}`} {
		for _, got := range []testResponse{s.do("POST", "/v1/pets", body), s.do("PATCH", "/v1/pets/1", body)} {
			message := got.wantError(t, 400, shop.ValidationFailed).message(t)
			if !strings.Contains(message, " categoryId ") || strings.Contains(message, " name ") != strings.Contains(body, `""`) {
				t.Errorf("%s: the message %q does not name the bad members", body, message)
			}
		}
	}
}
