package client_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"animalstore/client"
	"animalstore/internal/httpapi"
	"animalstore/internal/leaktest"
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
	"animalstore/internal/webhook"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// adminKey is the API key that every service in these tests is configured with.
const adminKey = "configured-key-of-the-tests"

// serviceOptions combines the options for the shop with the configuration of its HTTP API.
type serviceOptions struct {
	shop.Options
	httpapi.Config
}

// openService opens a real service with a SQLite database in the given folder.
func openService(ctx context.Context, folder string, set serviceOptions) (*httpapi.API, *sqlstore.Store, error) {
	store, err := sqlstore.Open(ctx, filepath.Join(folder, "test.db"), sqlstore.Options{Exclusive: true})
	if err != nil {
		return nil, nil, err
	}
	set.Environment, set.ConfiguredKey = shop.Production, adminKey
	if set.Service, err = shop.Open(ctx, store, set.Options); err != nil {
		return nil, nil, err
	}
	set.Log = slog.New(slog.DiscardHandler)
	api, err := httpapi.New(set.Config)
	return api, store, err
}

// testService is a real service behind a real listener. Its network can inject faults.
type testService struct {
	*faultyNetwork
	t       *testing.T
	service *shop.Service
	url     string                                                  // the base URL of the API
	dial    func(context.Context, string, string) (net.Conn, error) // if nil, the real network is used
}

func newTestService(t *testing.T, change ...func(*serviceOptions)) *testService {
	t.Helper()
	var set serviceOptions
	for _, fn := range change {
		fn(&set)
	}
	api, store, err := openService(t.Context(), t.TempDir(), set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s := &testService{faultyNetwork: &faultyNetwork{service: api}, t: t, service: api.Service}
	server := httptest.NewServer(s.faultyNetwork)
	t.Cleanup(server.Close)
	s.url = server.URL + "/v1"
	return s
}

// client returns a client that uses the admin key.
func (s *testService) client(options ...client.Option) *client.Client {
	s.t.Helper()
	return s.clientWith(adminKey, options...)
}

// clientWith returns a client that opens a new connection for each attempt. On a reused connection, net/http
// may retry by itself, and the tests could not count the attempts.
func (s *testService) clientWith(key string, options ...client.Option) *client.Client {
	s.t.Helper()
	own := client.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: s.dial}})
	c, err := client.New(s.url, key, append([]client.Option{own}, options...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// addPet creates an animal with the status available.
func (s *testService) addPet(name string) client.Pet {
	s.t.Helper()
	return must(s.client().CreatePet(s.t.Context(), client.NewPet{Name: name, CategoryID: 1, Status: client.PetAvailable}))(s.t)
}

// must returns a function that returns the value, or fails the test if there is an error.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// wantCode fails the test unless the error has this code.
func wantCode(t *testing.T, err error, code client.Code) {
	t.Helper()
	if !client.IsCode(err, code) {
		t.Fatalf("got error %v, want %s", err, code)
	}
}

// faultyNetwork sits between the client and the service. It records every request and applies the injected
// faults.
type faultyNetwork struct {
	service http.Handler
	mu      sync.Mutex
	seen    []request
	faults  []fault
}

type request struct {
	method, address string
	header          http.Header
	body            string
}

// fault handles one request. It either responds by itself, or calls the service and may change the response.
type fault func(w http.ResponseWriter, r *http.Request, service http.Handler)

// inject sets one fault for each of the next requests. Later requests reach the service unchanged.
func (r *faultyNetwork) inject(faults ...fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = faults
}

// requests returns the requests that were recorded since it was last called.
func (r *faultyNetwork) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

func (r *faultyNetwork) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	q.Body = io.NopCloser(bytes.NewReader(body))
	apply := passThrough
	r.mu.Lock()
	r.seen = append(r.seen, request{q.Method, q.URL.String(), q.Header.Clone(), string(body)})
	if len(r.faults) > 0 {
		apply, r.faults = r.faults[0], r.faults[1:]
	}
	r.mu.Unlock()
	apply(w, q, r.service)
}

// passThrough injects no fault. The service handles the request as usual.
func passThrough(w http.ResponseWriter, r *http.Request, service http.Handler) {
	service.ServeHTTP(w, r)
}

// dropRequest cuts the connection before the service sees the request.
func dropRequest(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// dropResponse cuts the connection after the service has handled the request.
func dropResponse(_ http.ResponseWriter, r *http.Request, service http.Handler) {
	service.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// cutResponse cuts the connection in the middle of the response.
func cutResponse(w http.ResponseWriter, r *http.Request, service http.Handler) {
	whole := httptest.NewRecorder()
	service.ServeHTTP(whole, r)
	for name, values := range whole.Header() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
	w.WriteHeader(whole.Code)
	w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// hang never sends a response.
func hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }

// respond returns a fault that sends this response instead of calling the service. The headers are
// alternating names and values.
func respond(status int, body string, headers ...string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for pair := range slices.Chunk(headers, 2) {
			w.Header().Set(pair[0], pair[1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// respondAfter returns a fault that replaces the response after the service has handled the request.
func respondAfter(status int) fault {
	return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		service.ServeHTTP(httptest.NewRecorder(), r)
		respond(status, proxyPage, "Content-Type", "text/html")(w, r, service)
	}
}

const proxyPage = "<html><head><title>502 Bad Gateway</title></head></html>"

// apiError returns the body of an error response from the service.
func apiError(status int, code client.Code) string {
	return fmt.Sprintf(`{"code":%q,"message":"An injected error.","status":%d}`, code, status)
}

// exampleShop is a running service that an example uses. Key is its admin key.
type exampleShop struct{ URL, Key string }

// serveExample starts a service, which runs until close is called.
func serveExample() (_ exampleShop, close func()) {
	folder, err := os.MkdirTemp("", "animalstore")
	if err != nil {
		panic(err)
	}
	api, store, err := openService(context.Background(), folder, serviceOptions{})
	if err != nil {
		panic(err)
	}
	report := func(err error) { fmt.Println("The service has an error:", err) } // this output makes the example fail
	working, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { api.Service.RunJobs(working, report) })
	work.Go(func() {
		webhook.New(webhook.Config{Service: api.Service, AllowPrivate: true, Report: report}).Run(working)
	})
	server := httptest.NewServer(api)
	return exampleShop{server.URL + "/v1", adminKey}, func() {
		server.Close()
		stop()
		work.Wait()
		store.Close()
		os.RemoveAll(folder)
	}
}

// exampleClient returns a client for a service that runs until close is called.
func exampleClient() (c *client.Client, close func()) {
	shop, close := serveExample()
	c, err := client.New(shop.URL, shop.Key)
	if err != nil {
		panic(err)
	}
	return c, close
}
