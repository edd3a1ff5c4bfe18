package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/api"
	"animalstore/api/apitest"
	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// adminKey is the configured API key in all test shops.
const adminKey = "configured-key-of-the-tests"

// testShop is a complete service with a real database and a real listener. It validates every response
// against the OpenAPI document.
type testShop struct {
	t              *testing.T
	store          *faultyStore
	service        *shop.Service
	clock          *clock
	api            *API
	url            string // the base URL without /v1
	log            *syncBuffer
	client         *http.Client
	checks         *apitest.Validator
	skipValidation bool   // if true, responses are not validated, because the test sends too many requests
	close          func() // called automatically when the test ends
}

func newShop(t *testing.T, change ...func(*Config)) *testShop {
	t.Helper()
	return newShopWith(t, shop.Options{}, change...)
}

func newShopWith(t *testing.T, o shop.Options, change ...func(*Config)) *testShop {
	t.Helper()
	s := &testShop{t: t, log: &syncBuffer{}, clock: &clock{}}
	database := filepath.Join(t.TempDir(), "test.db")
	if onPostgres {
		database = pgtest.Shared(t).NewDatabase(t)
	}
	// On a busy machine, a hundred concurrent clients take longer than the default RetryBudget allows.
	sql, err := sqlstore.Open(t.Context(), database, sqlstore.Options{Exclusive: true, Now: s.clock.now, RetryBudget: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	s.store = &faultyStore{Store: sql}
	s.service = s.open(o)
	config := Config{Service: s.service, Log: slog.New(slog.NewTextHandler(s.log, nil)), Version: "test"}
	for _, fn := range change {
		fn(&config)
	}
	if s.api, err = New(config); err != nil {
		t.Fatal(err)
	}
	if s.checks, err = documentChecks(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(s.api)
	server.Config.DisableGeneralOptionsHandler = true // the real program sets this option, too
	server.Start()
	server.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(s.log, nil), slog.LevelWarn)
	s.close = sync.OnceFunc(func() {
		server.Close()
		sql.Close()
	})
	t.Cleanup(s.close)
	s.url, s.client = server.URL, server.Client()
	return s
}

// documentChecks returns the validator that checks responses against the OpenAPI document and records
// which responses the tests have seen.
var documentChecks = sync.OnceValues(func() (*apitest.Validator, error) {
	document, err := api.NewDocument()
	if err != nil {
		return nil, err
	}
	checks, err := apitest.New(document.YAML([]api.Server{{URL: "/v1"}}))
	if err != nil {
		return nil, err
	}
	checks.OnResponse = func(operation string, status int) { reached.Store(fmt.Sprintf("%s %d", operation, status), true) }
	return checks, nil
})

// open opens another service on the same store, like a second node.
func (s *testShop) open(o shop.Options) *shop.Service {
	s.t.Helper()
	o.Environment, o.ConfiguredKey = shop.Production, adminKey
	if o.Now == nil {
		o.Now = s.clock.now
	}
	service, err := shop.Open(s.t.Context(), s.store, o)
	if err != nil {
		s.t.Fatal(err)
	}
	return service
}

// clock is the clock that the store and the service use. Tests can move it forward or back, for example to
// let holds expire.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())).Round(0) }
func (c *clock) forward(d time.Duration) { c.ahead.Add(int64(d)) }

// faultyStore wraps the real store and injects failures.
type faultyStore struct {
	shop.Store
	mu    sync.Mutex
	fault func(write bool) error
}

// failWith makes the store call fault before every read and write and fail with the error that fault
// returns. If fault is nil, the store works normally again.
func (s *faultyStore) failWith(fault func(write bool) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// holdWrites blocks every write until release is called. Each write sends a value on entered when it
// starts.
func (s *faultyStore) holdWrites() (entered <-chan struct{}, release func()) {
	begun, gate := make(chan struct{}), make(chan struct{})
	s.failWith(func(write bool) error {
		if write {
			select {
			case begun <- struct{}{}:
			case <-gate:
			}
			<-gate
		}
		return nil
	})
	return begun, func() { close(gate) }
}

func (s *faultyStore) check(write bool) error {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(write)
}

func (s *faultyStore) Read(ctx context.Context, fn func(shop.ReadTx) error) error {
	if err := s.check(false); err != nil {
		return err
	}
	return s.Store.Read(ctx, fn)
}

func (s *faultyStore) Write(ctx context.Context, fn func(shop.WriteTx) error) error {
	if err := s.check(true); err != nil {
		return err
	}
	return s.Store.Write(ctx, fn)
}

func (s *faultyStore) Ready(ctx context.Context) error {
	if err := s.check(false); err != nil {
		return err
	}
	return s.Store.Ready(ctx)
}

// syncBuffer is a buffer that is safe for concurrent use.
type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// testResponse is an HTTP response with its body already read.
type testResponse struct {
	*http.Response
	body []byte
}

// do sends a request with the admin key. Each header has the form "Name: value". An empty value removes
// the header.
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
	address := path
	if strings.HasPrefix(path, "/") {
		address = s.url + path
	}
	request, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return testResponse{}, err
	}
	request.Header.Set("Authorization", "Bearer "+adminKey)
	if strings.HasPrefix(path, "/v1/imports") {
		request.Header.Set("Content-Type", "application/x-ndjson")
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

func (s *testShop) send(request *http.Request) (testResponse, error) {
	response, err := s.client.Transport.RoundTrip(request) // in contrast to client.Do, this does not follow redirects
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
	if s.skipValidation || !hasPathPrefix(request.URL.Path, "/v1") && response.StatusCode < 400 {
		return got, nil // the OpenAPI document does not describe endpoints outside /v1
	}
	if err := s.checks.Check(request, response.StatusCode, response.Header, got.body); err != nil {
		return testResponse{}, fmt.Errorf("the response %d %s does not match the OpenAPI document: %w", response.StatusCode, got.body, err)
	}
	return got, nil
}

// wantError checks that the response is an error with the given status and code.
func (a testResponse) wantError(t *testing.T, status int, code shop.Code) {
	t.Helper()
	if a.StatusCode != status {
		t.Fatalf("got %d %s, want %d %s", a.StatusCode, a.body, status, code)
	}
	if a.Request.Method == http.MethodHead {
		return
	}
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q", got)
	}
	var members map[string]any
	if err := json.Unmarshal(a.body, &members); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	if len(members) != 3 || members["code"] != string(code) || members["status"] != float64(status) || members["message"] == "" {
		t.Errorf("got %s, want the code %s, the status %d and a message", a.body, code, status)
	}
}

// want checks the status of the response. If body is not empty, want also checks the response's body.
func (a testResponse) want(t *testing.T, status int, body string) {
	t.Helper()
	if got := strings.TrimSuffix(string(a.body), "\n"); a.StatusCode != status || body != "" && got != body {
		t.Errorf("got %d %s, want %d %s", a.StatusCode, got, status, body)
	}
}

// message returns the message in an error response.
func (a testResponse) message(t *testing.T) string {
	t.Helper()
	var body errorBody
	if err := json.Unmarshal(a.body, &body); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	return body.Message
}

// add creates an animal through the API.
func (s *testShop) add(body string) shop.Pet {
	s.t.Helper()
	got := s.do("POST", "/v1/pets", body)
	if got.StatusCode != http.StatusCreated {
		s.t.Fatalf("POST %s: %d %s", body, got.StatusCode, got.body)
	}
	var pet shop.Pet
	if err := json.Unmarshal(got.body, &pet); err != nil {
		s.t.Fatal(err)
	}
	return pet
}

// key creates an API key with the given scopes and returns its secret.
func (s *testShop) key(scopes ...shop.Scope) string {
	s.t.Helper()
	key, err := s.service.CreateKey(s.t.Context(), shop.NewKey{Name: "partner", Scopes: scopes})
	if err != nil {
		s.t.Fatal(err)
	}
	return key.Secret
}

// soon returns a time in the near future for which accepts returned true. On a busy machine, the time may
// already have passed when accepts uses it. In that case, soon tries a later time.
func soon(t *testing.T, accepts func(at time.Time) bool) time.Time {
	t.Helper()
	for ahead := 100 * time.Millisecond; ; ahead *= 2 {
		at := time.Now().Add(ahead)
		if accepts(at) {
			return at
		}
		if time.Now().Before(at) {
			t.Fatalf("%v was refused although it had not passed", at)
		}
	}
}

// pets decodes the animals in a list response.
func (a testResponse) pets(t *testing.T) []shop.Pet {
	t.Helper()
	var pets []shop.Pet
	if err := json.Unmarshal(a.body, &pets); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	return pets
}

// link returns the URL for a relation in the Link header, or "" if the header does not contain that
// relation.
func (a testResponse) link(relation string) string {
	for link := range strings.SplitSeq(a.Header.Get("Link"), ", ") {
		if target, rest, ok := strings.Cut(strings.TrimPrefix(link, "<"), ">"); ok && strings.Contains(rest, `rel="`+relation+`"`) {
			return target
		}
	}
	return ""
}
