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
	onBothEngines(t, wantCreated)
}

func wantCreated(t *testing.T, s *testShop) {
	for i, c := range []struct{ name, body, want string }{
		{"all members", `{"name":"Rex","categoryId":7,"status":"available"}`, `"name":"Rex","categoryId":7,"status":"available"`},
		{"pending", `{"name":"Rex","categoryId":7,"status":"pending"}`, `"name":"Rex","categoryId":7,"status":"pending"`},
		{"sold", `{"name":"Rex","categoryId":7,"status":"sold"}`, `"name":"Rex","categoryId":7,"status":"sold"`},
		{"no status", `{"name":"Rex","categoryId":7}`, `"name":"Rex","categoryId":7`},
		{"largest", `{"name":"Rex","categoryId":9223372036854775807}`, `"name":"Rex","categoryId":9223372036854775807`},
		{"smallest", `{"name":"Rex","categoryId":-9223372036854775808}`, `"name":"Rex","categoryId":-9223372036854775808`},
		{"beyond 2^53", `{"name":"Rex","categoryId":9007199254740993}`, `"name":"Rex","categoryId":9007199254740993`},
		{"7.0", `{"name":"Rex","categoryId":7.0}`, `"name":"Rex","categoryId":7`},
		{"unknown members", `{"name":"Rex","categoryId":7,"id":99,"Name":"x","extra":{"a":[1,null]}}`, `"name":"Rex","categoryId":7`},
		{"name with spaces", `{"name":"  Rex ","categoryId":7}`, `"name":"  Rex ","categoryId":7`},
		{"escapes", `{"name":"\u0052\u00e9x \ud83d\udc08 \"\\","categoryId":7}`, `"name":"Réx 🐈 \"\\","categoryId":7`},
		{"emoji", `{"name":"🐈👩‍👩‍👧‍👦","categoryId":7}`, `"name":"🐈👩‍👩‍👧‍👦","categoryId":7`},
		{"HTML", `{"name":"<b>Rex & Co</b>","categoryId":7}`, `"name":"<b>Rex & Co</b>","categoryId":7`},
		{"no-break space", "{\"name\":\"\u00a0\",\"categoryId\":7}", "\"name\":\"\u00a0\",\"categoryId\":7"},
		{"C1 control and line separator", "{\"name\":\"\u0085\u2028\",\"categoryId\":7}", ""},
		{"200 characters", fmt.Sprintf(`{"name":"%s","categoryId":7}`, strings.Repeat("é", 200)), fmt.Sprintf(`"name":"%s","categoryId":7`, strings.Repeat("é", 200))},
		{"200 emoji", fmt.Sprintf(`{"name":"%s","categoryId":7}`, strings.Repeat("🐈", 200)), fmt.Sprintf(`"name":"%s","categoryId":7`, strings.Repeat("🐈", 200))},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := ""
			if c.want != "" {
				want = fmt.Sprintf(`{"id":%d,%s}`, i+1, c.want)
			}
			got := s.do("POST", "/v1/pets", c.body)
			got.want(t, 201, want)
			if location := got.Header.Get("Location"); location != fmt.Sprintf("/v1/pets/%d", i+1) {
				t.Errorf("Location is %q", location)
			}
			again := s.do("GET", got.Header.Get("Location"), "")
			again.want(t, 200, strings.TrimSuffix(string(got.body), "\n"))
			if again.Header.Get("ETag") != got.Header.Get("ETag") {
				t.Error("GET returns another ETag")
			}
		})
	}
}

func TestInvalidPetIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, c := range []struct {
		name, body string
		code       shop.Code
		members    string // all members that the error message must name
	}{
		{"nothing", ``, shop.InvalidJSON, ""},
		{"null", `null`, shop.InvalidJSON, ""},
		{"array", `[{"name":"Rex","categoryId":7}]`, shop.InvalidJSON, ""},
		{"broken off", `{"name":"Rex","categoryId":7`, shop.InvalidJSON, ""},
		{"trailing comma", `{"name":"Rex","categoryId":7,}`, shop.InvalidJSON, ""},
		{"trailing data", `{"name":"Rex","categoryId":7}x`, shop.InvalidJSON, ""},
		{"two objects", `{"name":"Rex","categoryId":7}{"name":"Rex","categoryId":7}`, shop.InvalidJSON, ""},
		{"comment", `{"name":"Rex","categoryId":7/* seven */}`, shop.InvalidJSON, ""},
		{"leading zero", `{"name":"Rex","categoryId":07}`, shop.InvalidJSON, ""},
		{"NaN", `{"name":"Rex","categoryId":NaN}`, shop.InvalidJSON, ""},
		{"byte order mark", "\xef\xbb\xbf" + `{"name":"Rex","categoryId":7}`, shop.InvalidJSON, ""},
		{"UTF-16", "\xff\xfe{\x00}\x00", shop.InvalidJSON, ""},
		{"invalid UTF-8", "{\"name\":\"R\xffx\",\"categoryId\":7}", shop.InvalidJSON, ""},
		{"invalid UTF-8 in an unknown member", "{\"name\":\"Rex\",\"categoryId\":7,\"x\":\"\xc3\"}", shop.InvalidJSON, ""},
		{"surrogate in UTF-8", "{\"name\":\"\xed\xa0\x80\",\"categoryId\":7}", shop.InvalidJSON, ""},
		{"lone high surrogate", `{"name":"\ud800","categoryId":7}`, shop.InvalidJSON, ""},
		{"lone low surrogate", `{"name":"\udc08x","categoryId":7}`, shop.InvalidJSON, ""},
		{"raw line break in a string", "{\"name\":\"R\nx\",\"categoryId\":7}", shop.InvalidJSON, ""},
		{"duplicate member", `{"name":"Rex","name":"Rex","categoryId":7}`, shop.InvalidJSON, ""},
		{"duplicate unknown member", `{"name":"Rex","categoryId":7,"x":1,"x":2}`, shop.InvalidJSON, ""},
		{"duplicate inside", `{"name":"Rex","categoryId":7,"x":{"y":1,"y":2}}`, shop.InvalidJSON, ""},
		{"too deep", `{"name":"Rex","categoryId":7,"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, shop.InvalidJSON, ""},

		{"no members", `{}`, shop.ValidationFailed, "name categoryId"},
		{"no name", `{"categoryId":7}`, shop.ValidationFailed, "name"},
		{"no category", `{"name":"Rex"}`, shop.ValidationFailed, "categoryId"},
		{"wrong case", `{"NAME":"Rex","CategoryID":7}`, shop.ValidationFailed, "name categoryId"},
		{"name null", `{"name":null,"categoryId":7}`, shop.ValidationFailed, "name"},
		{"name number", `{"name":7,"categoryId":7}`, shop.ValidationFailed, "name"},
		{"name empty", `{"name":"","categoryId":7}`, shop.ValidationFailed, "name"},
		{"name spaces", `{"name":"   ","categoryId":7}`, shop.ValidationFailed, "name"},
		{"name with NUL", `{"name":"R\u0000x","categoryId":7}`, shop.ValidationFailed, "name"},
		{"name with a line break", `{"name":"R\nx","categoryId":7}`, shop.ValidationFailed, "name"},
		{"name with DEL", `{"name":"R\u007fx","categoryId":7}`, shop.ValidationFailed, "name"},
		{"name of 201 characters", fmt.Sprintf(`{"name":"%s","categoryId":7}`, strings.Repeat("é", 201)), shop.ValidationFailed, "name"},
		{"category null", `{"name":"Rex","categoryId":null}`, shop.ValidationFailed, "categoryId"},
		{"category string", `{"name":"Rex","categoryId":"7"}`, shop.ValidationFailed, "categoryId"},
		{"category 7.5", `{"name":"Rex","categoryId":7.5}`, shop.ValidationFailed, "categoryId"},
		{"category 2^63", `{"name":"Rex","categoryId":9223372036854775808}`, shop.ValidationFailed, "categoryId"},
		{"status null", `{"name":"Rex","categoryId":7,"status":null}`, shop.ValidationFailed, "status"},
		{"status empty", `{"name":"Rex","categoryId":7,"status":""}`, shop.ValidationFailed, "status"},
		{"status unknown", `{"name":"Rex","categoryId":7,"status":"lost"}`, shop.ValidationFailed, "status"},
		{"status in upper case", `{"name":"Rex","categoryId":7,"status":"Available"}`, shop.ValidationFailed, "status"},
		{"two members", `{"name":"","categoryId":"7"}`, shop.ValidationFailed, "name categoryId"},
		{"everything", `{"name":"","categoryId":7.5,"status":"lost"}`, shop.ValidationFailed, "name categoryId status"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.do("POST", "/v1/pets", c.body)
			got.wantError(t, 400, c.code)
			message := got.message(t)
			for _, member := range []string{"name", "categoryId", "status"} {
				named := strings.Contains(message, " "+member+" ")
				if wanted := strings.Contains(" "+c.members+" ", " "+member+" "); c.code == shop.ValidationFailed && named != wanted {
					t.Errorf("the message %q names %s: %v, want %v", message, member, named, wanted)
				}
			}
			if strings.Contains(message, "jsontext") || strings.Contains(message, "unmarshal") || !strings.HasSuffix(message, ".") {
				t.Errorf("the message %q shows internals", message)
			}
		})
	}
	s.do("GET", "/v1/pets", "").want(t, 200, "[]")
}

func TestOnlyUncompressedJSONIsAccepted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const body = `{"name":"Rex","categoryId":7}`
	for _, c := range []struct {
		header string
		ok     bool
	}{
		{"Content-Type: ", true},
		{"Content-Type: application/json", true},
		{"Content-Type: APPLICATION/JSON", true},
		{"Content-Type: application/json; charset=utf-8", true},
		{"Content-Type: application/json;charset=\"UTF-8\"; x=y", true},
		{"Content-Type: text/plain", false},
		{"Content-Type: text/json", false},
		{"Content-Type: application/x-www-form-urlencoded", false},
		{"Content-Type: application/merge-patch+json", false},
		{"Content-Type: application/jsonp", false},
		{"Content-Type: json", false},
		{"Content-Type: application/json; charset", false},
		{"Content-Encoding: gzip", false},
		{"Content-Encoding: identity", true},
		{"Content-Encoding: Identity", true},
	} {
		t.Run(c.header, func(t *testing.T) {
			got := s.do("POST", "/v1/pets", body, c.header)
			if c.ok {
				got.want(t, 201, "")
			} else {
				got.wantError(t, 415, shop.UnsupportedMediaType)
			}
		})
	}
	request, err := http.NewRequest("POST", s.url+"/v1/pets", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Authorization": {"Bearer " + adminKey}, "Content-Type": {"application/json", "text/plain"}}
	got, err := s.send(request)
	if err != nil {
		t.Fatal(err)
	}
	got.wantError(t, 415, shop.UnsupportedMediaType)
	request.Header["Content-Type"], request.Body = []string{""}, io.NopCloser(strings.NewReader(body))
	if got, err = s.send(request); err != nil {
		t.Fatal(err)
	}
	got.want(t, 201, "")
}

func TestBodySizeLimit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	padded := func(size int) string {
		body := `{"name":"Rex","categoryId":7}`
		return body + strings.Repeat(" ", size-len(body))
	}
	s.do("POST", "/v1/pets", padded(64<<10)).want(t, 201, "")
	s.do("POST", "/v1/pets", padded(64<<10+1)).wantError(t, 413, shop.PayloadTooLarge)
	// The same limit applies to a chunked body, which has no Content-Length.
	for size, status := range map[int]int{64 << 10: 201, 64<<10 + 1: 413, 1 << 20: 413} {
		request, err := http.NewRequest("POST", s.url+"/v1/pets", struct{ *strings.Reader }{strings.NewReader(padded(size))})
		if err != nil {
			t.Fatal(err)
		}
		request.ContentLength = -1
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
