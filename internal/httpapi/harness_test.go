package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"animalstore/api"
	"animalstore/api/apitest"
	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

const adminKey = shoptest.AdminKey

// testShop is a service with a real database and a real listener. It validates responses against the OpenAPI
// document.
type testShop struct {
	*shoptest.Shop
	t              *testing.T
	api            *API
	url            string // the base URL without /v1
	log            *programtest.Transcript
	client         *http.Client
	checks         *apitest.Validator
	skipValidation bool // if true, responses are not validated, because the test sends too many of them
}

// newShop opens a shop on SQLite. Use onBothEngines if the responses could depend on the engine.
func newShop(t *testing.T, change ...func(*Config)) *testShop {
	return newShopWith(t, shoptest.Options{}, change...)
}

// parallelShop is like newShop, and makes the test parallel.
func parallelShop(t *testing.T, change ...func(*Config)) *testShop {
	t.Parallel()
	return newShop(t, change...)
}

func newShopWith(t *testing.T, o shoptest.Options, change ...func(*Config)) *testShop {
	t.Helper()
	s := &testShop{Shop: shoptest.Open(t, o), t: t, log: &programtest.Transcript{}}
	config := Config{Service: s.Service, Log: slog.New(slog.NewTextHandler(s.log, nil)), Version: "test"}
	for _, fn := range change {
		fn(&config)
	}
	var err, invalid error
	s.api, err = New(config)
	if s.checks, invalid = documentChecks(); err != nil || invalid != nil {
		t.Fatal(err, invalid)
	}
	server := shoptest.Serve(t, s.api)
	server.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(s.log, nil), slog.LevelWarn)
	s.url, s.client = server.URL, server.Client()
	return s
}

// onBothEngines runs a test with SQLite and with PostgreSQL.
func onBothEngines(t *testing.T, test func(t *testing.T, s *testShop)) {
	t.Helper()
	t.Parallel()
	for name, postgres := range map[string]bool{"SQLite": false, "PostgreSQL": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newShopWith(t, shoptest.Options{Postgres: postgres}))
		})
	}
}

// documentChecks validates responses against the OpenAPI document and records which ones the tests have seen.
var documentChecks = sync.OnceValues(func() (*apitest.Validator, error) {
	document, err := api.NewDocument()
	if err != nil {
		return nil, err
	}
	checks, err := apitest.New(document.YAML([]api.Server{{URL: "/v1"}}))
	if err == nil {
		checks.OnHeader = func(ref string) { reached.Store("header "+ref, true) }
		checks.OnResponse = func(operation string, status int) { reached.Store(fmt.Sprintf("%s %d", operation, status), true) }
	}
	return checks, err
})

// node opens another service on the same store. The new service acts as a second node.
func (s *testShop) node(o shop.Options) *shop.Service {
	s.t.Helper()
	return shoptest.Must(s.Node(s.t.Context(), o))(s.t)
}

// testResponse is an HTTP response with its body already read.
type testResponse struct {
	*http.Response
	body []byte
}

// do sends a request with the admin key. A header has the form "Name: value"; an empty value removes the header.
func (s *testShop) do(method, path, body string, headers ...string) testResponse {
	s.t.Helper()
	got, err := s.tryDo(method, path, body, headers...)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

// tryDo is like do but returns an error, because goroutines must not call Fatal.
func (s *testShop) tryDo(method, path, body string, headers ...string) (testResponse, error) {
	if strings.HasPrefix(path, "/") {
		path = s.url + path
	}
	request, err := http.NewRequest(method, path, strings.NewReader(body))
	if err != nil {
		return testResponse{}, err
	}
	request.Header.Set("Authorization", "Bearer "+adminKey)
	if strings.HasPrefix(path, s.url+"/v1/imports") {
		request.Header.Set("Content-Type", "application/x-ndjson")
	} else if method == "POST" && strings.Contains(path, "/photos") {
		request.Header.Set("Content-Type", "image/png")
	} else if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Del(name)
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	return s.send(request)
}

// postAll sends n identical requests at the same time. If started is not nil, postAll receives from it after each
// request, to wait until that request has started. The returned WaitGroup waits for the responses.
func (s *testShop) postAll(t *testing.T, n int, started <-chan struct{}, path, body string, headers ...string) *sync.WaitGroup {
	var clients sync.WaitGroup
	for range n {
		clients.Go(func() {
			if got, err := s.tryDo("POST", path, body, headers...); err != nil || got.StatusCode >= 300 {
				t.Errorf("%s: %v %s", path, err, got.body)
			}
		})
		if started != nil {
			<-started
		}
	}
	return &clients
}

func (s *testShop) send(request *http.Request) (testResponse, error) {
	response, err := s.client.Transport.RoundTrip(request) // unlike client.Do, RoundTrip does not follow redirects
	if err != nil {
		return testResponse{}, err
	}
	defer response.Body.Close()
	got := testResponse{Response: response}
	if got.body, err = io.ReadAll(response.Body); err != nil {
		return testResponse{}, err
	}
	var e errorBody
	if json.Unmarshal(got.body, &e) == nil && e.Code != "" {
		reached.Store(string(e.Code)+": "+e.Message, true)
	}
	if s.skipValidation || request.URL.Path == mcpPath || !hasPathPrefix(request.URL.Path, "/v1") && response.StatusCode < 400 {
		return got, nil // the OpenAPI document does not describe endpoints outside /v1
	}
	if err := s.checks.Check(request, response.StatusCode, response.Header, got.body); err != nil {
		return got, fmt.Errorf("the response %d %s does not match the OpenAPI document: %w", response.StatusCode, got.body, err)
	}
	return got, nil
}

// logLine returns the access log's line for a request.
func (s *testShop) logLine(t *testing.T, got testResponse) string {
	t.Helper()
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "id="+got.Header.Get("X-Request-Id")) {
			return line
		}
	}
	t.Fatalf("the request %s is not in the log", got.Header.Get("X-Request-Id"))
	return ""
}

// wantError checks that the response is an error with the given status and code. It returns the response.
func (a testResponse) wantError(t *testing.T, status int, code shop.Code) testResponse {
	t.Helper()
	if a.StatusCode != status {
		t.Fatalf("got %d %s, want %d %s", a.StatusCode, a.body, status, code)
	}
	if a.Request.Method == http.MethodHead {
		return a
	}
	members := parsed[map[string]any](t, a)
	if len(members) != 3 || members["code"] != string(code) || members["status"] != float64(status) || members["message"] == "" ||
		a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got %s %s, want the code %s, the status %d and a message", a.Header.Get("Content-Type"), a.body, code, status)
	}
	return a
}

// want checks the status of the response and, if body is not empty, its body. It returns the response.
func (a testResponse) want(t *testing.T, status int, body string) testResponse {
	t.Helper()
	if got := strings.TrimSuffix(string(a.body), "\n"); a.StatusCode != status || body != "" && got != body {
		t.Errorf("got %d %s, want %d %s", a.StatusCode, got, status, body)
	}
	return a
}

// wantHeaders checks headers of the form "Name: value". An empty value means that there is no such header.
func (a testResponse) wantHeaders(t *testing.T, headers ...string) {
	t.Helper()
	for _, header := range headers {
		name, want, _ := strings.Cut(header, ": ")
		if got := strings.Join(a.Header.Values(name), ", "); got != want {
			t.Errorf("%s %s: %d with %s %q, want %q", a.Request.Method, a.Request.URL, a.StatusCode, name, got, want)
		}
	}
}

// message returns the message in an error response.
func (a testResponse) message(t *testing.T) string { return parsed[errorBody](t, a).Message }

// pets returns the animals in a list response.
func (a testResponse) pets(t *testing.T) []shop.Pet { return parsed[[]shop.Pet](t, a) }

// parsed decodes the body of a response.
func parsed[T any](t *testing.T, a testResponse) (value T) {
	t.Helper()
	if err := json.Unmarshal(a.body, &value); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	return value
}

// add creates an animal through the API.
func (s *testShop) add(body string) shop.Pet {
	s.t.Helper()
	return parsed[shop.Pet](s.t, s.do("POST", "/v1/pets", body).want(s.t, 201, ""))
}

// key creates an API key with the given scopes and returns its secret.
func (s *testShop) key(scopes ...shop.Scope) string {
	s.t.Helper()
	return s.Key(s.t, scopes...).Secret
}

// wantPages reads all pages of a list and checks the ids of their items. Each page is requested again with its entity
// tag, which must result in a 304.
func (s *testShop) wantPages(t *testing.T, path, want string, headers ...string) {
	t.Helper()
	var seen []string
	for next := path; next != ""; {
		page := s.do("GET", next, "", headers...)
		for _, item := range parsed[[]struct{ ID json.RawMessage }](t, page) {
			seen = append(seen, strings.Trim(string(item.ID), `"`))
		}
		if tag := page.Header.Get("ETag"); tag != "" { // not every list has an entity tag
			s.do("GET", next, "", append(headers, "If-None-Match: "+tag)...).want(t, 304, "")
		}
		next = page.link("next")
	}
	if got := strings.Join(seen, " "); got != want {
		t.Errorf("%s: saw %s, want %s", path, got, want)
	}
}

// link returns the URL for a relation in the Link header, or "" if the header has no such relation.
func (a testResponse) link(relation string) string {
	for link := range strings.SplitSeq(a.Header.Get("Link"), ", ") {
		if target, _, ok := strings.Cut(strings.TrimPrefix(link, "<"), `>; rel="`+relation+`"`); ok {
			return target
		}
	}
	return ""
}
