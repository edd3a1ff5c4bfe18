package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// fuzzText fuzzes check with texts, starting with the given seeds.
func fuzzText(f *testing.F, check func(t *testing.T, text string), seeds ...string) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(check)
}

// fuzzBody is like fuzzText, but for request bodies. It adds seeds that are unusual for any operation.
func fuzzBody(f *testing.F, check func(t *testing.T, body []byte), seeds ...string) {
	seeds = append(seeds, ``, `{}`, `null`, `[]`, `{"a":{"b":[[[[]]]]}}`, "\xef\xbb\xbf{}", "{\"name\":\"\xff\"}", `{"a":1,"a":1}`)
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(check)
}

// wantLine checks that a text can be displayed safely on one line in a log or on a page.
func wantLine(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		t.Fatalf("the text is %q", text)
	}
}

// accepted reports whether an input was accepted. If it was not, accepted checks that the error has one of the codes.
// The default codes are those for an invalid body.
func accepted[T string | []byte](t *testing.T, input T, err error, codes ...shop.Code) bool {
	t.Helper()
	if err == nil {
		return true
	}
	if codes == nil {
		codes = []shop.Code{shop.InvalidJSON, shop.ValidationFailed}
	}
	e := shop.AsError(err)
	if !slices.Contains(codes, e.Code) {
		t.Fatalf("%q: %v, want one of %v", input, err, codes)
	}
	wantLine(t, e.Message)
	return false
}

// members decodes a JSON object with the standard library.
func members(t *testing.T, body []byte) (m map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%q was accepted: %v", body, err)
	}
	return m
}

// FuzzPetChange checks that an accepted change sets exactly the members that are in the body, and that a changed name
// is valid.
func FuzzPetChange(f *testing.F) {
	fuzzBody(f, func(t *testing.T, body []byte) {
		change, problems, err := decodePetChange(body)
		if err == nil {
			err = problems.Err()
		}
		if !accepted(t, body, err) {
			return
		}
		sent := members(t, body)
		taken := map[string]bool{"name": change.Name != nil, "categoryId": change.CategoryID != nil, "status": change.Status != nil}
		for name, taken := range taken {
			if _, was := sent[name]; was != taken {
				t.Fatalf("%q: %s was sent: %v, and accepted: %v", body, name, was, taken)
			}
		}
		if change.Name != nil && shop.TextProblem(*change.Name) != "" {
			t.Fatalf("%q gave the name %q", body, *change.Name)
		}
	}, `{"name":"Rex"}`, `{"categoryId":7.0}`, `{"status":"sold"}`, `{"name":null,"categoryId":-1,"status":"pending"}`)
}

// FuzzBody checks that every body that is accepted for a category, an order, a change of an order, a key or a
// rotation is valid.
func FuzzBody(f *testing.F) {
	fuzzBody(f, func(t *testing.T, body []byte) {
		if name, err := decodeCategoryName(body); accepted(t, body, err) && shop.TextProblem(name) != "" {
			t.Fatalf("%q gave the name %q", body, name)
		}
		if order, err := decodeNewOrder(body); accepted(t, body, err) {
			_, given := members(t, body)["reference"]
			if given && shop.TextProblem(order.Reference) != "" || !given && order.Reference != "" {
				t.Fatalf("%q gave the reference %q", body, order.Reference)
			}
		}
		if change, err := decodeOrderChange(body); accepted(t, body, err) && change.Problems().Err() != nil {
			t.Fatalf("%q was accepted: %v", body, change.Problems())
		}
		if key, err := decodeNewKey(body, time.Now()); accepted(t, body, err) && key.Problems(time.Now()).Err() != nil {
			t.Fatalf("%q was accepted: %v", body, key.Problems(time.Now()))
		}
		if overlap, err := decodeOverlap(body); accepted(t, body, err) && (overlap < 0 || overlap > 30*24*time.Hour) {
			t.Fatalf("%q gave the overlap %v", body, overlap)
		}
	}, `{"name":"Dogs"}`, `{"name":" "}`, `{"name":"a\u0000"}`, `{"name":7}`,
		`{"petId":7,"reference":"A-1"}`, `{"petId":"7"}`, `{"petId":7,"reference":null}`, `{"status":"approved"}`, `{"status":"lost"}`,
		`{"name":"partner","scopes":["pets:read"]}`, `{"name":"partner","scopes":["admin","admin"]}`, `{"name":"p","scopes":[]}`,
		`{"name":"p","scopes":["admin"],"expiresAt":"2999-01-31T18:00:00Z"}`,
		`{"name":"p","scopes":["admin"],"expiresAt":"9999-12-31T23:59:60+14:00"}`, `{"overlapSeconds":0}`, `{"overlapSeconds":1e400}`,
		`{"overlapSeconds":9223372036854775807}`, `{"overlapSeconds":null}`)
}

// FuzzImport checks that the line numbers of rows increase, that their problems fit on one line, and that names are
// valid UTF-8.
func FuzzImport(f *testing.F) {
	fuzzBody(f, func(t *testing.T, body []byte) {
		rows, err := decodeImport("application/x-ndjson", body)
		if !accepted(t, body, err) {
			return
		}
		last := 0
		for _, row := range rows {
			if row.Line <= last || row.Line > 1+bytes.Count(body, []byte("\n")) {
				t.Fatalf("%q: the line %d follows %d", body, row.Line, last)
			}
			last = row.Line
			wantLine(t, row.Problems.String())
			if len(row.Problems) == 0 && len(row.NewPet.Problems()) == 0 && !utf8.ValidString(row.Name) {
				t.Fatalf("%q: an animal called %q", body, row.Name)
			}
		}
	}, "{\"name\":\"Rex\",\"categoryId\":1}\n\n{\"name\":\"\"}\r\n[]\n{\"name\":\"a\",\"name\":\"b\"}",
		"\ufeff{\"name\":\"Rex\",\"categoryId\":9007199254740993,\"status\":\"sold\"}", "\xff\n\x00\n\"\n")
}

// FuzzHeader checks the parsing of three headers. An accepted Idempotency-Key is short, consists of printable ASCII
// characters, and has the same meaning with and without quotes. If-Match matches only the tag or "*". A valid
// Last-Event-ID has 1 to 18 digits.
func FuzzHeader(f *testing.F) {
	tag := shop.EntityTag([]byte("an animal"))
	fuzzText(f, func(t *testing.T, text string) {
		if key, err := idempotencyKey([]string{text}); accepted(t, text, err, shop.InvalidParameter) {
			odd := func(r rune) bool { return r < ' ' || r > '~' }
			quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
			again, err := idempotencyKey([]string{quoted})
			if key == "" || len(key) > maxIdempotencyKeyLength || strings.ContainsFunc(key, odd) || err != nil || again != key {
				t.Fatalf("%q is the key %q, and in quotes it is %q, %v", text, key, again, err)
			}
		}
		strong, weak := web.MatchesTag([]string{text}, tag, false), web.MatchesTag([]string{text}, tag, true)
		if strong && !weak || weak && !strings.Contains(text, tag) && !strings.Contains(text, "*") ||
			(text == tag || text == "*") && !strong || text == "W/"+tag && (strong || !weak) {
			t.Fatalf("%q matches %s: strongly %v, weakly %v", text, tag, strong, weak)
		}
		position, ok := parsePosition(text)
		plain := len(text) >= 1 && len(text) <= 18 && strings.Trim(text, "0123456789") == ""
		if ok != plain || position < 0 || ok && fmt.Sprintf("%0*d", len(text), position) != text {
			t.Fatalf("%q: %d %v", text, position, ok)
		}
	}, "", `"k"`, `"a\"b"`, `"a\\"`, `"`, `a"b`, `"a"b`, "é", "a\tb", strings.Repeat("k", 256), `"`+strings.Repeat(`\"`, 255)+`"`,
		"*", tag, "W/"+tag, `"other", `+tag, tag[1:], ",,,", `"a,`+tag+`"`,
		"0", "000000000000000007", "999999999999999999", "1000000000000000000", "-1", "+1", "1.0", "٣", "1\n")
}

// FuzzAuthorization checks that a key is read only from a single header with the scheme Bearer, and is not modified.
func FuzzAuthorization(f *testing.F) {
	fuzzText(f, func(t *testing.T, text string) {
		secret, err := bearerToken([]string{text})
		code := map[bool]shop.Code{true: shop.MissingAPIKey, false: shop.InvalidAPIKey}[text == ""]
		if !accepted(t, text, err, code) {
			return
		}
		if secret == "" || secret[0] == ' ' || !strings.HasSuffix(text, " "+secret) || !strings.EqualFold(text[:7], "bearer ") {
			t.Fatalf("%q gave the key %q", text, secret)
		}
		if _, err := bearerToken([]string{text, text}); err == nil {
			t.Fatalf("%q is accepted twice", text)
		}
	}, "", "Bearer", "Bearer ", "Bearer k", "bearer  k", "BEARER k k", "Basic k", "Bearer\tk", " Bearer k", "k")
}

// FuzzMediaTypes checks that a client gets a stream only if it asks for one, and that only uncompressed JSON is
// accepted.
func FuzzMediaTypes(f *testing.F) {
	for _, text := range []string{"", "application/json; charset=utf-8", "text/event-stream;q=NaN, */*", "a/b;c=\"d"} {
		f.Add(text, "")
	}
	f.Add("application/json", "gzip")
	f.Fuzz(func(t *testing.T, text, coding string) {
		if wantsStream([]string{text}) && !strings.Contains(strings.ToLower(text), "text/event-stream") {
			t.Fatalf("%q gets a stream", text)
		}
		rule := &bodyRule{mediaTypes: []string{"application/json"}}
		if rule.accepts(http.Header{"Content-Type": {text}, "Content-Encoding": {coding}}) &&
			(text != "" && !strings.Contains(strings.ToLower(text), "application/json") ||
				coding != "" && !strings.EqualFold(coding, "identity")) {
			t.Fatalf("%q with the coding %q is accepted", text, coding)
		}
	})
}

// FuzzPath checks that every path except the known public ones needs an API key, and that every path parameter has a
// value.
func FuzzPath(f *testing.F) {
	router, err := newRouter(routes())
	if err != nil {
		f.Fatal(err)
	}
	for _, endpoint := range router.endpoints {
		f.Add(strings.Join(endpoint.segments, "/"))
	}
	open := map[string]bool{"/livez": true, "/readyz": true, "/v1/openapi.json": true, "/v1/openapi.yaml": true}
	fuzzText(f, func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		endpoint, params := router.find(u)
		if endpoint == nil {
			return
		}
		if endpoint.public && !open[u.Path] && !hasPathPrefix(u.Path, "/docs") && !hasPathPrefix(u.Path, "/photos") {
			t.Fatalf("%q is routed to %v, which is public", path, endpoint.segments)
		}
		if len(params) != strings.Count(strings.Join(endpoint.segments, "/"), "{") || slices.Contains(params, "") {
			t.Fatalf("%q is routed to %v with %q", path, endpoint.segments, params)
		}
	}, "", "/", "//v1/pets", "/v1/pets/", "/v1/pets/%2f", "/v1/%70ets", "/v1/pets/1/../../livez", "/livez%00", "/v1/pets/%", "*")
}
