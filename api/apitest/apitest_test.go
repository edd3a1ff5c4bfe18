package apitest_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"animalstore/api"
	"animalstore/api/apitest"
	"animalstore/internal/shoptest"
)

// response is a test case with a response that Check must accept or reject.
type response struct {
	name, request string
	status        int
	change        http.Header // headers that are added to the common headers or replace them; an empty list removes a header
	body          string
	wrong         string // part of the expected error message; empty if the response is valid
}

var (
	common      = http.Header{"X-Request-Id": {"01jd2q8r5m9x3v7k4t6w0y1z2a"}, "X-Content-Type-Options": {"nosniff"}}
	errorHeader = http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}}
	page        = http.Header{
		"Content-Type": {"application/json"}, "Cache-Control": {"private, no-cache"}, "Etag": {`"5d41402abc4b2a76"`},
		"Link": {`<http://x/v1/pets?cursor=8000000000003>; rel="next"`, `<http://x/v1/pets>; rel="first"`},
	}
	pet = merge(page, http.Header{
		"Deprecation": {"@1794700800"}, "Sunset": {"Thu, 05 Dec 2030 00:00:00 GMT"},
		"Link": {`<http://x/docs>; rel="deprecation", <http://x/docs>; rel="sunset", <http://x/v1/pets>; rel="successor-version"`},
	})
	eventStream = http.Header{"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-store"}, "X-Accel-Buffering": {"no"}}
	ndjson      = http.Header{
		"Content-Type": {"application/x-ndjson"}, "Cache-Control": {"no-store"},
		"Content-Disposition": {`attachment; filename="pets.ndjson"`},
	}
)

func merge(base http.Header, changes ...http.Header) http.Header {
	all := base.Clone()
	for _, change := range changes {
		maps.Copy(all, change)
	}
	maps.DeleteFunc(all, func(_ string, values []string) bool { return len(values) == 0 })
	return all
}

func errorBody(code string, status int) string {
	return fmt.Sprintf(`{"code":%q,"message":"It failed.","status":%d}`, code, status)
}

// newValidator returns a validator for the API's document.
func newValidator(t *testing.T) *apitest.Validator {
	t.Helper()
	document := shoptest.Must(api.NewDocument())(t)
	return shoptest.Must(apitest.New(document.YAML([]api.Server{{URL: "http://x/v1"}})))(t)
}

// complain checks that an error's message contains the given text. If the text is empty, there must be no error.
func complain(t *testing.T, name string, err error, about string) {
	t.Helper()
	if (err != nil) != (about != "") || err != nil && !strings.Contains(err.Error(), about) {
		t.Errorf("%s: got %v, want a complaint about %q", name, err, about)
	}
}

func TestCheck(t *testing.T) {
	validator := newValidator(t)
	// Each character of the name takes two UTF-16 code units but counts as one character.
	pageWithName := func(length int) string {
		return `[{"id":1,"categoryId":1,"name":"` + strings.Repeat("🐢", length) + `"}]`
	}
	challenge := http.Header{"Www-Authenticate": {`Bearer realm="animalstore", error="invalid_token"`}}
	allow := http.Header{"Allow": {"GET, HEAD, OPTIONS, POST"}}
	later, soon := http.Header{"Retry-After": {"1"}}, http.Header{"Retry-After": {"soon"}}
	text, streamType := http.Header{"Content-Type": {"text/plain"}}, http.Header{"Content-Type": {"text/event-stream"}}

	for _, a := range []response{
		{"page", "GET /pets?limit=2", 200, page, `[{"id":1,"name":"Rex","categoryId":1,"status":"sold"}]`, ""},
		{"200 turtles", "GET /pets", 200, page, pageWithName(200), ""},
		{"201 turtles", "GET /pets", 200, page, pageWithName(201), "maxLength"},
		{"head", "HEAD /pets", 200, page, ``, ""},
		{"head with a body", "HEAD /pets", 200, page, `[]`, "unexpected body"},
		{"head without a header", "HEAD /pets", 200, merge(page, http.Header{"Etag": {}}), ``, "ETag is missing"},
		{"not modified", "GET /pets", 304, merge(page, http.Header{"Content-Type": {}}), ``, ""},
		{"not modified, a header missing", "GET /pets", 304, merge(page, http.Header{"Link": {}}), ``, "Link is missing"},
		{"not modified with a body", "GET /pets", 304, page, `[]`, "unexpected body"},
		{"another status", "GET /pets", 418, page, `[]`, "no documented response 418"},
		{"another header", "GET /pets", 200, merge(page, http.Header{"X-Powered-By": {"Go"}}), `[]`, "X-Powered-By"},
		{"another value", "GET /pets", 200, merge(page, http.Header{"X-Content-Type-Options": {"sniff"}}), `[]`, "X-Content-Type"},
		{"preflight", "OPTIONS /pets", 204, merge(allow, http.Header{"Access-Control-Max-Age": {"600"}, "Vary": {"Origin"}}), ``, ""},
		{"preflight, another header", "OPTIONS /pets", 204, merge(allow, http.Header{"X-Powered-By": {"Go"}}), ``, "X-Powered-By"},
		{"another type", "GET /pets", 200, merge(page, http.Header{"Content-Type": {"text/html"}}), `[]`, "text/html"},
		{"another id", "GET /pets", 200, merge(page, http.Header{"X-Request-Id": {"7"}}), `[]`, "X-Request-Id"},

		{"pet", "GET /pets/1", 200, pet, `{"id":1,"name":"Rex","categoryId":1}`, ""},
		{"smallest int64", "GET /pets/1", 200, pet, `{"id":1,"name":"R","categoryId":-9223372036854775808}`, ""},
		{"2^63", "GET /pets/1", 200, pet, `{"id":1,"name":"R","categoryId":9223372036854775808}`, "not an int64"},
		{"7.5", "GET /pets/1", 200, pet, `{"id":1,"name":"R","categoryId":7.5}`, "integer"},
		{"null", "GET /pets/1", 200, pet, `{"id":1,"name":"R","categoryId":1,"status":null}`, "status"},
		{"another member", "GET /pets/1", 200, pet, `{"id":1,"name":"R","categoryId":1,"age":1}`, "age"},
		{"spaces", "GET /pets/1", 200, pet, `{"id":1,"name":"  ","categoryId":1}`, "pattern"},
		{"no sunset", "HEAD /pets/1", 200, merge(pet, http.Header{"Sunset": {}}), ``, "Sunset is missing"},
		{"another sunset", "HEAD /pets/1", 200, merge(pet, http.Header{"Sunset": {"tomorrow"}}), ``, "Sunset"},

		{"events", "GET /events", 200, page, `[` + event(`{"id":1}`, `null`) + `]`, ""},
		{"events without a before", "GET /events", 200, page, `[` + event(`{"id":1}`, `{}`) + `]`, "previous"},
		{"stream", "GET /events", 200, eventStream, "retry: 2000\n\n", ""},
		{"buffered stream", "GET /events", 200, merge(eventStream, http.Header{"X-Accel-Buffering": {"yes"}}), "", "X-Accel-Buffering"},
		{"stream where there is none", "GET /pets", 200, merge(page, streamType), "", "text/event-stream"},

		{"lines", "GET /exports/pets.ndjson", 200, ndjson, `{"id":1,"name":"Rex","categoryId":1,"etag":"\"5\"","category":"Dogs"}` + "\n", ""},
		{"line without an etag", "GET /exports/pets.ndjson", 200, ndjson, `{"id":1,"name":"Rex","categoryId":1}` + "\n", "etag"},
		{"no lines", "GET /exports/pets.ndjson", 200, ndjson, "", ""},
		{"line of something else", "GET /exports/pets.ndjson", 200, ndjson, `{"id":1,"etag":"\"5\""}` + "\n", "name"},
		{"line without an end", "GET /exports/pets.ndjson", 200, ndjson, `{"id":1,"name":"Rex","categoryId":1}`, "has no newline"},
		{"lines where there are none", "GET /exports/pets.csv", 200, ndjson, "", "application/x-ndjson"},

		{"unknown path", "GET /nothing", 404, errorHeader, errorBody("not_found", 404), ""},
		{"unknown path without a key", "GET /nothing", 401, merge(errorHeader, challenge), errorBody("invalid_api_key", 401), ""},
		{"no challenge", "GET /nothing", 401, errorHeader, errorBody("invalid_api_key", 401), "WWW-Authenticate is missing"},
		{"unknown path as text", "GET /nothing", 404, merge(errorHeader, text), `no`, "text/plain"},
		{"unknown path, found", "GET /nothing", 200, page, `[]`, "GET http://x/v1/nothing responded with 200"},
		{"wrong method", "PUT /pets", 405, merge(errorHeader, allow), errorBody("method_not_allowed", 405), ""},
		{"wrong method, none named", "PUT /pets", 405, errorHeader, errorBody("method_not_allowed", 405), "Allow is missing"},
		{"unauthorized", "GET /pets", 401, merge(errorHeader, challenge), errorBody("invalid_api_key", 401), ""},
		{"another code", "POST /pets", 400, errorHeader, errorBody("oops", 400), "code"},
		{"unavailable", "POST /pets", 503, merge(errorHeader, later), errorBody("unavailable", 503), ""},
		{"no number of seconds", "POST /pets", 503, merge(errorHeader, soon), errorBody("unavailable", 503), "Retry-After"},
	} {
		method, path, _ := strings.Cut(a.request, " ")
		req := httptest.NewRequest(method, "http://x/v1"+path, nil)
		complain(t, a.name, validator.Check(req, a.status, merge(common, a.change), []byte(a.body)), a.wrong)
	}
}

// event returns an event about a category as JSON. The arguments are the new and the old state, also as JSON.
func event(current, previous string) string {
	return `{"specversion":"1.0","id":"1","source":"/v1","type":"category.created","subject":"categories/1",` +
		`"time":"2026-11-15T09:30:00Z","datacontenttype":"application/json","actor":"system",` +
		`"data":{"current":` + current + `,"previous":` + previous + `}}`
}

func TestCheckSchema(t *testing.T) {
	validator := newValidator(t)
	good := event(`{"id":1,"name":"Dogs"}`, `null`)
	for _, c := range []struct{ name, schema, value, wrong string }{
		{"event", "Event", good, ""},
		{"a pet", "Event", event(`null`, `{"id":1,"name":"Rex","categoryId":1}`), "previous"},
		{"something else", "Event", event(`{"id":1,"colour":"red"}`, `null`), "current"},
		{"a secret", "Event", strings.Replace(good, `"Dogs"`, `"Dogs","secret":"x"`, 1), "current"},
		{"no actor", "Event", strings.Replace(good, `"actor":"system",`, ``, 1), "actor"},
		{"another actor", "Event", strings.Replace(good, `"system"`, `"somebody"`, 1), "actor"},
		{"another type", "Event", strings.Replace(good, `category.created`, `category.eaten`, 1), "type"},
		{"another member", "Event", strings.Replace(good, `"actor"`, `"x":1,"actor"`, 1), "x"},
		{"no int64", "Category", `{"id":9223372036854775808}`, "not an int64"},
		{"no JSON", "Event", `{`, "not valid JSON"},
		{"no schema", "Nothing", `{}`, "no schema"},
	} {
		complain(t, c.name, validator.CheckSchema(c.schema, []byte(c.value)), c.wrong)
	}
}

func TestCheckRejectsInvalidTimes(t *testing.T) {
	validator := newValidator(t)
	for time, wrong := range map[string]string{
		"2030-12-05T00:00:00.25Z": "", "2030-12-05T01:00:00+01:00": "", "2030-12-05": "time", "2030-12-05 00:00:00Z": "time",
		"2030-12-05T00:00:00": "time", "2030-02-30T00:00:00Z": "time", "2030-12-05T25:00:00Z": "time",
	} {
		body := `[` + strings.Replace(event(`{"id":1}`, `null`), "2026-11-15T09:30:00Z", time, 1) + `]`
		req := httptest.NewRequest("GET", "http://x/v1/events", nil)
		complain(t, time, validator.Check(req, 200, merge(common, page), []byte(body)), wrong)
	}
}
