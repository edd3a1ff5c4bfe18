package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// FuzzIdempotencyKey checks that an accepted key is short, consists of printable ASCII characters, and is
// the same key when it is quoted.
func FuzzIdempotencyKey(f *testing.F) {
	for _, text := range []string{"", "k", `"k"`, `"a\"b"`, `"a\\"`, `"`, `"a`, `a"b`, `"a"b`, "é", "a\tb", strings.Repeat("k", 256), `"` + strings.Repeat(`\"`, 255) + `"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := idempotencyKey([]string{text})
		if err != nil {
			if shop.AsError(err).Code != shop.InvalidParameter {
				t.Fatal(err)
			}
			return
		}
		if key == "" || len(key) > maxIdempotencyKeyLength || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q is the key %q", text, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := idempotencyKey([]string{quoted}); err != nil || again != key {
			t.Fatalf("%q is the key %q, and in quotes it is %q, %v", text, key, again, err)
		}
	})
}

// FuzzIfMatch checks that a header matches a tag only if the header contains the tag or a star.
func FuzzIfMatch(f *testing.F) {
	tag := web.EntityTag([]byte("an animal"))
	for _, text := range []string{"", "*", tag, "W/" + tag, `"other"`, `"other", ` + tag, tag[1:], ",,,", `"a,` + tag + `"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		strong, weak := matchesTag([]string{text}, tag, false), matchesTag([]string{text}, tag, true)
		if strong && !weak {
			t.Fatalf("%q matches a strong comparison, but not a weak one", text)
		}
		if weak && !strings.Contains(text, tag) && !strings.Contains(text, "*") {
			t.Fatalf("%q matches %s", text, tag)
		}
		if (text == tag || text == "*") && !strong || text == "W/"+tag && (strong || !weak) {
			t.Fatalf("%q: %v %v", text, strong, weak)
		}
	})
}

// FuzzLastEventID checks that a valid position has 1 to 18 digits and is not negative.
func FuzzLastEventID(f *testing.F) {
	for _, text := range []string{"", "0", "7", "000000000000000007", "999999999999999999", "1000000000000000000", "-1", "+1", "1.0", "٣", "1\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		position, ok := parsePosition(text)
		plain := len(text) >= 1 && len(text) <= 18 && strings.Trim(text, "0123456789") == ""
		if ok != plain || position < 0 || ok && strings.TrimLeft(text, "0") != strings.TrimLeft(strconv.FormatInt(position, 10), "0") {
			t.Fatalf("%q: %d %v", text, position, ok)
		}
	})
}

// FuzzAuthorization checks that a key is accepted only from a single Authorization header with the scheme
// Bearer and that the key is not modified.
func FuzzAuthorization(f *testing.F) {
	for _, text := range []string{"", "Bearer", "Bearer ", "Bearer k", "bearer  k", "BEARER k k", "Basic k", "Bearer\tk", " Bearer k", "k"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		secret, err := bearerToken([]string{text})
		if err != nil {
			e := shop.AsError(err)
			if e.Code != shop.MissingAPIKey && e.Code != shop.InvalidAPIKey || (e.Code == shop.MissingAPIKey) != (text == "") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if secret == "" || secret[0] == ' ' || !strings.HasSuffix(text, " "+secret) || !strings.EqualFold(text[:7], "bearer ") {
			t.Fatalf("%q gave the key %q", text, secret)
		}
		if _, err := bearerToken([]string{text, text}); err == nil {
			t.Fatalf("%q is accepted twice", text)
		}
	})
}

// FuzzMediaTypes checks that no Content-Type, Content-Encoding or Accept header causes a panic. Only a
// client that accepts text/event-stream gets a stream, and only an uncompressed body with the right type
// is accepted.
func FuzzMediaTypes(f *testing.F) {
	for _, text := range []string{"", "application/json", "application/json; charset=utf-8", "text/event-stream;q=0.1, */*", "text/event-stream;q=NaN", "a/b;c=\"d", "application/json, text/event-stream;q=1e400"} {
		f.Add(text, "")
	}
	f.Add("application/json", "gzip")
	f.Fuzz(func(t *testing.T, text, coding string) {
		if wantsStream([]string{text}) && !strings.Contains(strings.ToLower(text), "text/event-stream") {
			t.Fatalf("%q gets a stream", text)
		}
		h := http.Header{"Content-Type": {text}, "Content-Encoding": {coding}}
		rule := &bodyRule{mediaTypes: []string{"application/json"}}
		if rule.accepts(h) && text != "" && !strings.Contains(strings.ToLower(text), "application/json") {
			t.Fatalf("%q is accepted", text)
		}
		if rule.accepts(h) && coding != "" && !strings.EqualFold(coding, "identity") {
			t.Fatalf("the coding %q is accepted", coding)
		}
	})
}

// FuzzPath checks that only the known public paths work without an API key and that every path parameter
// has a value.
func FuzzPath(f *testing.F) {
	router, err := newRouter(routes())
	if err != nil {
		f.Fatal(err)
	}
	for _, endpoint := range router.endpoints {
		f.Add(strings.Join(endpoint.segments, "/"))
	}
	for _, path := range []string{"", "/", "//v1/pets", "/v1/pets/", "/v1/pets/%2f", "/v1/%70ets", "/v1/pets/1/../../livez", "/livez%00", "/v1/pets/%", "*"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		endpoint, params := router.find(u)
		if endpoint == nil {
			return
		}
		open := map[string]bool{"/livez": true, "/readyz": true, "/v1/openapi.json": true, "/v1/openapi.yaml": true}
		plain := u.Path
		if endpoint.public && !open[plain] && !hasPathPrefix(plain, "/docs") {
			t.Fatalf("%q is routed to %v, which is public", path, endpoint.segments)
		}
		for _, value := range params {
			if value == "" {
				t.Fatalf("%q is routed to %v with %q", path, endpoint.segments, params)
			}
		}
		if len(params) != strings.Count(strings.Join(endpoint.segments, "/"), "{") {
			t.Fatalf("%q is routed to %v with %q", path, endpoint.segments, params)
		}
	})
}

// FuzzOtherLists checks that every query for orders or deliveries is either within the limits or refused
// because of an invalid parameter or cursor.
func FuzzOtherLists(f *testing.F) {
	for _, query := range []string{"", "limit=5&status=placed", "petId=7", "petId=x", "status=lost", "cursor=8000000000001", "status=failed&limit=100", "limit=101", "a;b", "%zz"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		check := func(limit int, err error) {
			if err == nil && (limit < 1 || limit > maxLimit) {
				t.Fatalf("%q has the limit %d", query, limit)
			}
			if code := shop.AsError(err).Code; err != nil && code != shop.InvalidParameter && code != shop.InvalidCursor {
				t.Fatalf("%q: %v", query, err)
			}
			if err != nil {
				wantLine(t, shop.AsError(err).Message)
			}
		}
		orders, err := parseOrderList(query)
		check(orders.Limit, err)
		deliveries, err := parseDeliveryList(query)
		check(deliveries.Limit, err)
	})
}
