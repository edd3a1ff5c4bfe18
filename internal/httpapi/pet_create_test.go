package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

func TestValidPetIsCreated(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		for i, c := range []struct{ sent, want string }{ // no want means that the response has what was sent
			{`"name":"Rex","categoryId":7,"status":"available"`, ""},
			{`"name":"Rex","categoryId":9223372036854775807`, ""},
			{`"name":"Rex","categoryId":-9223372036854775808`, ""},
			{`"name":"Rex","categoryId":9007199254740993`, ""}, // beyond 2^53
			{`"name":"Rex","categoryId":7.0`, `"name":"Rex","categoryId":7`},
			{`"name":"Rex","categoryId":7,"id":99,"Name":"x","extra":{"a":[1,null]}`, `"name":"Rex","categoryId":7`},
			{`"name":"\u0052\u00e9x \ud83d\udc08 \"\\","categoryId":7`, `"name":"Réx 🐈 \"\\","categoryId":7`},
			{"\"name\":\"  <b>Rex & Co</b> 👩‍👩‍👧‍👦 \u00a0\u0085\u2028\",\"categoryId\":7", ""},
			{`"name":"` + strings.Repeat("🐈", 200) + `","categoryId":7`, ""},
		} {
			if c.want == "" {
				c.want = c.sent
			}
			got := s.do("POST", "/v1/pets", "{"+c.sent+"}")
			got.want(t, 201, fmt.Sprintf(`{"id":%d,%s}`, i+1, c.want))
			if location := got.Header.Get("Location"); location != fmt.Sprintf("/v1/pets/%d", i+1) {
				t.Errorf("Location is %q", location)
			}
			again := s.do("GET", got.Header.Get("Location"), "")
			again.want(t, 200, strings.TrimSuffix(string(got.body), "\n"))
			if again.Header.Get("ETag") != got.Header.Get("ETag") {
				t.Errorf("%s: GET returns another ETag", c.sent)
			}
		}
	})
}

func TestInvalidPetIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, body := range []string{
		``, `null`, `[{"name":"Rex","categoryId":7}]`, `{"name":"Rex","categoryId":7`, `{"name":"Rex","categoryId":7}x`,
		`{"name":"Rex","categoryId":7/* seven */}`, `{"name":"Rex","categoryId":07}`, `{"name":"Rex","categoryId":NaN}`,
		"\xef\xbb\xbf" + `{"name":"Rex","categoryId":7}`, "\xff\xfe{\x00}\x00", // a byte order mark and UTF-16
		"{\"name\":\"R\xffx\",\"categoryId\":7}", "{\"name\":\"Rex\",\"categoryId\":7,\"x\":\"\xc3\"}",
		"{\"name\":\"\xed\xa0\x80\",\"categoryId\":7}", `{"name":"\ud800","categoryId":7}`, `{"name":"\udc08x","categoryId":7}`,
		"{\"name\":\"R\nx\",\"categoryId\":7}", `{"name":"Rex","name":"Rex","categoryId":7}`,
		`{"name":"Rex","categoryId":7,"x":1,"x":2}`, `{"name":"Rex","categoryId":7,"x":{"y":1,"y":2}}`,
		`{"name":"Rex","categoryId":7,"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
	} {
		got := s.do("POST", "/v1/pets", body)
		got.wantError(t, 400, shop.InvalidJSON)
		message := got.message(t)
		if strings.Contains(message, "jsontext") || strings.Contains(message, "unmarshal") || !strings.HasSuffix(message, ".") {
			t.Errorf("the message %q shows internals", message)
		}
	}
	for members, wrong := range map[string]string{
		``: "name categoryId", `"NAME":"Rex","CategoryID":7`: "name categoryId", `"name":"","categoryId":"7"`: "name categoryId",
		`"name":null,"categoryId":7`: "name", `"name":7,"categoryId":7`: "name", `"name":"R\u0000x","categoryId":7`: "name",
		`"name":"Rex","categoryId":null`: "categoryId", `"name":"Rex","categoryId":9223372036854775808`: "categoryId",
		`"name":"Rex","categoryId":7,"status":null`: "status", `"name":"Rex","categoryId":7,"status":"Available"`: "status",
		`"name":"` + strings.Repeat("é", 201) + `","categoryId":7.5,"status":"lost"`: "name categoryId status",
	} {
		s.wantProblems(t, "POST", "/v1/pets", "{"+members+"}", wrong)
	}
	s.do("GET", "/v1/pets", "").want(t, 200, "[]")
}

func TestOnlyUncompressedJSONIsAccepted(t *testing.T) {
	t.Parallel()
	rule := &bodyRule{mediaTypes: []string{"application/json"}}
	for _, c := range []struct {
		types  []string
		coding string
		ok     bool
	}{
		{nil, "", true},
		{[]string{""}, "", true},
		{[]string{"APPLICATION/JSON"}, "", true},
		{[]string{"application/json;charset=\"UTF-8\"; x=y"}, "Identity", true},
		{[]string{"text/json"}, "", false},
		{[]string{"application/json; charset"}, "", false},
		{[]string{"application/json", "text/plain"}, "", false},
		{[]string{"application/json"}, "gzip", false},
	} {
		if got := rule.accepts(http.Header{"Content-Type": c.types, "Content-Encoding": {c.coding}}); got != c.ok {
			t.Errorf("%q %s: accepted: %v, want %v", c.types, c.coding, got, c.ok)
		}
	}
}

// The limit also applies to a chunked body, which has no Content-Length.
func TestBodySizeLimit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const body = `{"name":"Rex","categoryId":7}`
	for size, status := range map[int]int{64 << 10: 201, 64<<10 + 1: 413} {
		padded := body + strings.Repeat(" ", size-len(body))
		s.do("POST", "/v1/pets", padded).want(t, status, "")
		request, err := http.NewRequest("POST", s.url+"/v1/pets", struct{ io.Reader }{strings.NewReader(padded)})
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+adminKey)
		got, err := s.send(request)
		if err != nil {
			t.Fatal(err)
		}
		got.want(t, status, "")
	}
}

func TestLocationSurvivesTheRemovalOfGetPet(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *Config) { c.Today = day("2030-12-05") })
	got := s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":7}`)
	if location := got.Header.Get("Location"); location != "/v1/pets?id=1" {
		t.Errorf("Location is %q", location)
	}
	again := s.do("GET", got.Header.Get("Location"), "")
	again.want(t, 200, `[{"id":1,"name":"Rex","categoryId":7}]`)
	if again.Header.Get("ETag") != got.Header.Get("ETag") {
		t.Error("GET returns another ETag")
	}
}

func TestUpdatePet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	for _, c := range []struct{ body, want string }{
		{`{"id":9,"unknown":null}`, `{"id":1,"name":"Rex","categoryId":1}`},
		{`{"name":"Žofka 🐈"}`, `{"id":1,"name":"Žofka 🐈","categoryId":1}`},
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
	s.do("GET", "/v1/pets?q=žOFKA", "").want(t, 200, "[]") // the old name is not found anymore
	s.do("GET", "/v1/pets?q=rEX", "").want(t, 200, `[{"id":1,"name":"Rex","categoryId":1,"status":"available"}]`)
}

func TestDeletePet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	s.add(`{"name":"Mia","categoryId":1}`)
	s.do("DELETE", "/v1/pets/2", "").want(t, 204, "")
	for _, method := range []string{"DELETE", "GET", "PATCH"} {
		s.do(method, "/v1/pets/2", `{}`).wantError(t, 404, shop.NotFound)
	}
	s.do("GET", "/v1/pets", "").want(t, 200, `[{"id":1,"name":"Rex","categoryId":1}]`)
	if pet := s.add(`{"name":"Leo","categoryId":1}`); pet.ID != 3 {
		t.Errorf("the id %d was used again", pet.ID)
	}
}
