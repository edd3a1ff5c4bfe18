package httpapi

import (
	"strings"
	"testing"

	"animalstore/internal/shop"
)

func TestCategoryLifecycle(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("GET", "/v1/categories", "").want(t, 200, "[]")
	s.add(`{"name":"Rex","categoryId":2}`)
	s.add(`{"name":"Rex","categoryId":-5}`)
	s.do("GET", "/v1/categories", "").want(t, 200, `[{"id":-5},{"id":2}]`)
	first := s.do("POST", "/v1/categories", `{"name":"Dogs","id":77}`)
	first.want(t, 201, `{"id":1,"name":"Dogs"}`)
	if location := first.Header.Get("Location"); location != "/v1/categories/1" {
		t.Errorf("Location is %q", location)
	}
	// The new category gets id 3, because adding an animal has already created category 2.
	s.do("POST", "/v1/categories", `{"name":"Cats"}`).want(t, 201, `{"id":3,"name":"Cats"}`)
	s.do("DELETE", "/v1/categories/3", "").want(t, 204, "")
	// The ids of deleted categories are not reused.
	s.do("POST", "/v1/categories", `{"name":"Birds"}`).want(t, 201, `{"id":4,"name":"Birds"}`)
	s.do("PUT", "/v1/categories/5", `{"name":"Fish"}`).want(t, 201, `{"id":5,"name":"Fish"}`)
	s.do("PUT", "/v1/categories/6", `{"name":"Fish"}`).want(t, 201, `{"id":6,"name":"Fish"}`)
	s.do("POST", "/v1/categories", `{"name":"Mice"}`).want(t, 201, `{"id":7,"name":"Mice"}`)

	s.do("GET", "/v1/categories/2", "").want(t, 200, `{"id":2}`)
	s.do("PUT", "/v1/categories/2", `{"name":"Rabbits"}`).want(t, 200, `{"id":2,"name":"Rabbits"}`)
	s.do("PUT", "/v1/categories/2", `{"name":"Rabbits"}`).want(t, 200, `{"id":2,"name":"Rabbits"}`)
	created := s.do("PUT", "/v1/categories/-9223372036854775808", `{"name":"Dragons"}`)
	created.want(t, 201, `{"id":-9223372036854775808,"name":"Dragons"}`)
	if location := created.Header.Get("Location"); location != "/v1/categories/-9223372036854775808" {
		t.Errorf("Location is %q", location)
	}
	s.do("DELETE", "/v1/categories/2", "").wantError(t, 409, shop.CategoryInUse)
	s.do("PATCH", "/v1/pets/1", `{"categoryId":1}`).want(t, 200, "")
	s.do("DELETE", "/v1/categories/2", "").want(t, 204, "")
	s.do("DELETE", "/v1/categories/1", "").wantError(t, 409, shop.CategoryInUse)
	s.do("GET", "/v1/categories/2", "").wantError(t, 404, shop.NotFound)
	for _, body := range []string{`{}`, `{"name":null}`, `{"name":""}`, `{"name":" "}`, `{"name":"a\u0000"}`, `{"name":7}`} {
		s.do("POST", "/v1/categories", body).wantError(t, 400, shop.ValidationFailed)
		s.do("PUT", "/v1/categories/1", body).wantError(t, 400, shop.ValidationFailed)
	}

	var seen []string
	for path := "/v1/categories?limit=2"; path != ""; {
		page := s.do("GET", path, "")
		seen = append(seen, strings.TrimSpace(string(page.body)))
		s.do("GET", path, "", "If-None-Match: "+page.Header.Get("ETag")).want(t, 304, "")
		path = page.link("next")
	}
	want := `[{"id":-9223372036854775808,"name":"Dragons"},{"id":-5}] [{"id":1,"name":"Dogs"},{"id":4,"name":"Birds"}] ` +
		`[{"id":5,"name":"Fish"},{"id":6,"name":"Fish"}] [{"id":7,"name":"Mice"}]`
	if got := strings.Join(seen, " "); got != want {
		t.Errorf("the pages are\n%s\nwant\n%s", got, want)
	}
	s.do("GET", "/v1/categories?limit=0", "").wantError(t, 400, shop.InvalidParameter)
	s.do("GET", "/v1/categories?cursor=x", "").wantError(t, 400, shop.InvalidCursor)
	tag := s.do("GET", "/v1/categories/1", "").Header.Get("ETag")
	s.do("GET", "/v1/categories/1", "", "If-None-Match: "+tag).want(t, 304, "")
}

func TestKnownCategories(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *Config) {})
	s.api.Service = s.open(shop.Options{KnownCategories: true})
	s.do("POST", "/v1/categories", `{"name":"Dogs"}`).want(t, 201, "")
	s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`).want(t, 201, "")
	for _, got := range []testResponse{
		s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":2}`),
		s.do("PATCH", "/v1/pets/1", `{"categoryId":2}`),
	} {
		got.wantError(t, 400, shop.ValidationFailed)
		if !strings.Contains(got.message(t), " categoryId ") {
			t.Errorf("the message is %q", got.message(t))
		}
	}
	for _, got := range []testResponse{
		s.do("POST", "/v1/pets", `{"name":"","categoryId":2}`),
		s.do("PATCH", "/v1/pets/1", `{"name":"","categoryId":2}`),
	} {
		got.wantError(t, 400, shop.ValidationFailed)
		if m := got.message(t); !strings.Contains(m, " categoryId ") || !strings.Contains(m, " name ") {
			t.Errorf("the message %q does not name every bad member", m)
		}
	}
	s.do("GET", "/v1/categories", "").want(t, 200, `[{"id":1,"name":"Dogs"}]`)
	s.do("PATCH", "/v1/pets/1", `{"categoryId":1,"name":"Max"}`).want(t, 200, "")
}
