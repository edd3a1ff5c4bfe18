package httpapi

import (
	"strings"
	"testing"

	"animalstore/internal/shop"
)

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
		got := s.do("PATCH", "/v1/pets/1", c.body)
		got.want(t, 200, c.want)
		again := s.do("GET", "/v1/pets?id=1", "")
		again.want(t, 200, "["+c.want+"]")
		if again.Header.Get("ETag") != got.Header.Get("ETag") {
			t.Errorf("%s: GET returns another ETag", c.body)
		}
	}
	for _, c := range []struct{ body, members string }{
		{`{"name":null}`, "name"}, {`{"name":""}`, "name"}, {`{"name":7}`, "name"}, {`{"name":"a\nb"}`, "name"},
		{`{"categoryId":null}`, "categoryId"}, {`{"categoryId":7.5}`, "categoryId"}, {`{"categoryId":"7"}`, "categoryId"},
		{`{"status":null}`, "status"}, {`{"status":""}`, "status"}, {`{"status":"lost"}`, "status"}, {`{"status":1}`, "status"},
		{`{"name":"","categoryId":true,"status":"x"}`, "name categoryId status"},
	} {
		got := s.do("PATCH", "/v1/pets/1", c.body)
		got.wantError(t, 400, shop.ValidationFailed)
		for member := range strings.FieldsSeq(c.members) {
			if !strings.Contains(got.message(t), " "+member+" ") {
				t.Errorf("%s: the message %q does not name %s", c.body, got.message(t), member)
			}
		}
	}
	s.do("GET", "/v1/pets/1", "").want(t, 200, `{"id":1,"name":"Rex","categoryId":1,"status":"available"}`)
	if n := len(s.do("GET", "/v1/pets?q=žOFKA", "").pets(t)); n != 0 {
		t.Error("the old name is still found")
	}
	s.do("PATCH", "/v1/pets/1", `{"name":"Žofka"}`).want(t, 200, "")
	if n := len(s.do("GET", "/v1/pets?q=žOFKA", "").pets(t)); n != 1 {
		t.Error("the new name is not found")
	}
}

func TestDeletePet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	s.add(`{"name":"Mia","categoryId":1}`)
	s.do("DELETE", "/v1/pets/2", "").want(t, 204, "")
	s.do("DELETE", "/v1/pets/2", "").wantError(t, 404, shop.NotFound)
	s.do("GET", "/v1/pets/2", "").wantError(t, 404, shop.NotFound)
	s.do("PATCH", "/v1/pets/2", `{}`).wantError(t, 404, shop.NotFound)
	s.do("GET", "/v1/pets", "").want(t, 200, `[{"id":1,"name":"Rex","categoryId":1}]`)
	if pet := s.add(`{"name":"Leo","categoryId":1}`); pet.ID != 3 {
		t.Errorf("the id %d was used again", pet.ID)
	}
}
