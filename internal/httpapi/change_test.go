package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

// Every move of the status by hand: those that the table of the document has, and no other.
func TestMoves(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	allowed := map[string]bool{
		"→available": true, "→pending": true, "→sold": true,
		"available→pending": true, "available→sold": true, "pending→available": true, "pending→sold": true, "sold→available": true,
	}
	for _, from := range []string{"", "available", "pending", "sold"} {
		for _, to := range []string{"available", "pending", "sold"} {
			body := `{"name":"Rex","categoryId":1}`
			if from != "" {
				body = fmt.Sprintf(`{"name":"Rex","categoryId":1,"status":%q}`, from)
			}
			pet := s.add(body)
			path := fmt.Sprintf("/v1/pets/%d", pet.ID)
			got := s.ask("PATCH", path, fmt.Sprintf(`{"status":%q}`, to))
			if allowed[from+"→"+to] || from == to {
				got.want(t, 200, fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":1,"status":%q}`, pet.ID, to))
				continue
			}
			got.wantError(t, 409, shop.InvalidTransition)
			s.ask("GET", path, "").want(t, 200, fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":1,"status":%q}`, pet.ID, from))
		}
	}
}

func TestUpdatePet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	for _, c := range []struct{ body, want string }{
		{`{}`, `{"id":1,"name":"Rex","categoryId":1}`},
		{`{"id":9,"unknown":null}`, `{"id":1,"name":"Rex","categoryId":1}`},
		{`{"name":"Žofka 🐈"}`, `{"id":1,"name":"Žofka 🐈","categoryId":1}`},
		{`{"categoryId":-9223372036854775808}`, `{"id":1,"name":"Žofka 🐈","categoryId":-9223372036854775808}`},
		{`{"categoryId":7.0}`, `{"id":1,"name":"Žofka 🐈","categoryId":7}`},
		{`{"name":"Rex","categoryId":1,"status":"available"}`, `{"id":1,"name":"Rex","categoryId":1,"status":"available"}`},
	} {
		got := s.ask("PATCH", "/v1/pets/1", c.body)
		got.want(t, 200, c.want)
		again := s.ask("GET", "/v1/pets?id=1", "")
		again.want(t, 200, "["+c.want+"]")
		if again.Header.Get("ETag") != got.Header.Get("ETag") {
			t.Errorf("%s: the animal has another ETag when it is fetched", c.body)
		}
	}
	for _, c := range []struct{ body, members string }{
		{`{"name":null}`, "name"}, {`{"name":""}`, "name"}, {`{"name":7}`, "name"}, {`{"name":"a\nb"}`, "name"},
		{`{"categoryId":null}`, "categoryId"}, {`{"categoryId":7.5}`, "categoryId"}, {`{"categoryId":"7"}`, "categoryId"},
		{`{"status":null}`, "status"}, {`{"status":""}`, "status"}, {`{"status":"lost"}`, "status"}, {`{"status":1}`, "status"},
		{`{"name":"","categoryId":true,"status":"x"}`, "name categoryId status"},
	} {
		got := s.ask("PATCH", "/v1/pets/1", c.body)
		got.wantError(t, 400, shop.ValidationFailed)
		for member := range strings.FieldsSeq(c.members) {
			if !strings.Contains(got.message(t), " "+member+" ") {
				t.Errorf("%s: the message %q does not name %s", c.body, got.message(t), member)
			}
		}
	}
	s.ask("GET", "/v1/pets/1", "").want(t, 200, `{"id":1,"name":"Rex","categoryId":1,"status":"available"}`)
	if n := len(s.ask("GET", "/v1/pets?q=žOFKA", "").pets(t)); n != 0 {
		t.Error("the old name is still found")
	}
	s.ask("PATCH", "/v1/pets/1", `{"name":"Žofka"}`).want(t, 200, "")
	if n := len(s.ask("GET", "/v1/pets?q=žOFKA", "").pets(t)); n != 1 {
		t.Error("the new name is not found")
	}
}

func TestDeletePet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	s.add(`{"name":"Mia","categoryId":1}`)
	s.ask("DELETE", "/v1/pets/2", "").want(t, 204, "")
	s.ask("DELETE", "/v1/pets/2", "").wantError(t, 404, shop.NotFound)
	s.ask("GET", "/v1/pets/2", "").wantError(t, 404, shop.NotFound)
	s.ask("PATCH", "/v1/pets/2", `{}`).wantError(t, 404, shop.NotFound)
	s.ask("GET", "/v1/pets", "").want(t, 200, `[{"id":1,"name":"Rex","categoryId":1}]`)
	if pet := s.add(`{"name":"Leo","categoryId":1}`); pet.ID != 3 {
		t.Errorf("the id %d was used again", pet.ID)
	}
}

func TestIfMatch(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"PATCH", "DELETE"} {
		s := newShop(t)
		first := s.ask("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`).Header.Get("ETag")
		second := s.ask("PATCH", "/v1/pets/1", `{"name":"Max"}`).Header.Get("ETag")
		body := ""
		if method == "PATCH" {
			body = `{"name":"Leo"}`
		}
		for _, match := range []string{first, `"x"`, "W/" + second, strings.Trim(second, `"`), `"x", ` + first} {
			s.ask(method, "/v1/pets/1", body, "If-Match: "+match).wantError(t, 412, shop.PreconditionFailed)
		}
		s.ask(method, "/v1/pets/99", body, "If-Match: *").wantError(t, 404, shop.NotFound)
		s.ask("GET", "/v1/pets/1", "").want(t, 200, `{"id":1,"name":"Max","categoryId":1}`)
		if got := s.ask(method, "/v1/pets/1", body, `If-Match: "x", `+second); got.StatusCode >= 300 {
			t.Errorf("%s with the right tag: %d %s", method, got.StatusCode, got.body)
		}
	}
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	s.ask("PATCH", "/v1/pets/1", `{"name":"Leo"}`, "If-Match: *").want(t, 200, "")
}

// A condition is never ignored, whatever it is put on.
func TestIfMatchOnOthers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stock()
	for _, c := range []struct{ method, path, body string }{
		{"PATCH", "/v1/store/orders/1", `{"status":"approved"}`},
		{"PUT", "/v1/categories/7", `{"name":"Birds"}`},
		{"DELETE", "/v1/categories/7", ""},
		{"PATCH", "/v1/webhooks/1", `{"enabled":false}`},
		{"DELETE", "/v1/webhooks/1", ""},
	} {
		tag := s.ask("GET", c.path, "").Header.Get("ETag")
		s.ask(c.method, c.path, c.body, `If-Match: "x"`).wantError(t, 412, shop.PreconditionFailed)
		if now := s.ask("GET", c.path, "").Header.Get("ETag"); now != tag {
			t.Errorf("%s %s was done all the same", c.method, c.path)
		}
		if got := s.ask(c.method, c.path, c.body, "If-Match: "+tag); got.StatusCode >= 300 {
			t.Errorf("%s %s with the right tag: %d %s", c.method, c.path, got.StatusCode, got.body)
		}
	}
	s.ask("PUT", "/v1/categories/99", `{"name":"Birds"}`, "If-Match: *").wantError(t, 412, shop.PreconditionFailed)
}

func TestCategories(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.ask("GET", "/v1/categories", "").want(t, 200, "[]")
	s.add(`{"name":"Rex","categoryId":2}`)
	s.add(`{"name":"Rex","categoryId":-5}`)
	s.ask("GET", "/v1/categories", "").want(t, 200, `[{"id":-5},{"id":2}]`)
	first := s.ask("POST", "/v1/categories", `{"name":"Dogs","id":77}`)
	first.want(t, 201, `{"id":1,"name":"Dogs"}`)
	if location := first.Header.Get("Location"); location != "/v1/categories/1" {
		t.Errorf("Location is %q", location)
	}
	s.ask("POST", "/v1/categories", `{"name":"Cats"}`).want(t, 201, `{"id":3,"name":"Cats"}`) // past 2, which an animal brought
	s.ask("DELETE", "/v1/categories/3", "").want(t, 204, "")
	s.ask("POST", "/v1/categories", `{"name":"Birds"}`).want(t, 201, `{"id":4,"name":"Birds"}`) // 3 is never used again
	s.ask("PUT", "/v1/categories/5", `{"name":"Fish"}`).want(t, 201, `{"id":5,"name":"Fish"}`)
	s.ask("PUT", "/v1/categories/6", `{"name":"Fish"}`).want(t, 201, `{"id":6,"name":"Fish"}`)
	s.ask("POST", "/v1/categories", `{"name":"Mice"}`).want(t, 201, `{"id":7,"name":"Mice"}`)

	s.ask("GET", "/v1/categories/2", "").want(t, 200, `{"id":2}`)
	s.ask("PUT", "/v1/categories/2", `{"name":"Rabbits"}`).want(t, 200, `{"id":2,"name":"Rabbits"}`)
	s.ask("PUT", "/v1/categories/2", `{"name":"Rabbits"}`).want(t, 200, `{"id":2,"name":"Rabbits"}`)
	created := s.ask("PUT", "/v1/categories/-9223372036854775808", `{"name":"Dragons"}`)
	created.want(t, 201, `{"id":-9223372036854775808,"name":"Dragons"}`)
	if location := created.Header.Get("Location"); location != "/v1/categories/-9223372036854775808" {
		t.Errorf("Location is %q", location)
	}
	s.ask("DELETE", "/v1/categories/2", "").wantError(t, 409, shop.CategoryInUse)
	s.ask("PATCH", "/v1/pets/1", `{"categoryId":1}`).want(t, 200, "")
	s.ask("DELETE", "/v1/categories/2", "").want(t, 204, "")
	s.ask("DELETE", "/v1/categories/1", "").wantError(t, 409, shop.CategoryInUse)
	s.ask("GET", "/v1/categories/2", "").wantError(t, 404, shop.NotFound)
	for _, body := range []string{`{}`, `{"name":null}`, `{"name":""}`, `{"name":" "}`, `{"name":"a\u0000"}`, `{"name":7}`} {
		s.ask("POST", "/v1/categories", body).wantError(t, 400, shop.ValidationFailed)
		s.ask("PUT", "/v1/categories/1", body).wantError(t, 400, shop.ValidationFailed)
	}

	var seen []string
	for path := "/v1/categories?limit=2"; path != ""; {
		page := s.ask("GET", path, "")
		seen = append(seen, strings.TrimSpace(string(page.body)))
		s.ask("GET", path, "", "If-None-Match: "+page.Header.Get("ETag")).want(t, 304, "")
		path = page.link("next")
	}
	want := `[{"id":-9223372036854775808,"name":"Dragons"},{"id":-5}] [{"id":1,"name":"Dogs"},{"id":4,"name":"Birds"}] ` +
		`[{"id":5,"name":"Fish"},{"id":6,"name":"Fish"}] [{"id":7,"name":"Mice"}]`
	if got := strings.Join(seen, " "); got != want {
		t.Errorf("the pages are\n%s\nwant\n%s", got, want)
	}
	s.ask("GET", "/v1/categories?limit=0", "").wantError(t, 400, shop.InvalidParameter)
	s.ask("GET", "/v1/categories?cursor=x", "").wantError(t, 400, shop.InvalidCursor)
	tag := s.ask("GET", "/v1/categories/1", "").Header.Get("ETag")
	s.ask("GET", "/v1/categories/1", "", "If-None-Match: "+tag).want(t, 304, "")
}

func TestKnownCategories(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *Config) {})
	s.api.Service = s.open(shop.Options{KnownCategories: true})
	s.ask("POST", "/v1/categories", `{"name":"Dogs"}`).want(t, 201, "")
	s.ask("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`).want(t, 201, "")
	for _, got := range []answer{
		s.ask("POST", "/v1/pets", `{"name":"Rex","categoryId":2}`),
		s.ask("PATCH", "/v1/pets/1", `{"categoryId":2}`),
	} {
		got.wantError(t, 400, shop.ValidationFailed)
		if !strings.Contains(got.message(t), " categoryId ") {
			t.Errorf("the message is %q", got.message(t))
		}
	}
	for _, got := range []answer{
		s.ask("POST", "/v1/pets", `{"name":"","categoryId":2}`),
		s.ask("PATCH", "/v1/pets/1", `{"name":"","categoryId":2}`),
	} {
		got.wantError(t, 400, shop.ValidationFailed)
		if m := got.message(t); !strings.Contains(m, " categoryId ") || !strings.Contains(m, " name ") {
			t.Errorf("the message %q does not name every bad member", m)
		}
	}
	s.ask("GET", "/v1/categories", "").want(t, 200, `[{"id":1,"name":"Dogs"}]`)
	s.ask("PATCH", "/v1/pets/1", `{"categoryId":1,"name":"Max"}`).want(t, 200, "")
}
