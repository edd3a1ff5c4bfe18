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

// adminKey is the configured key of every shop in these tests.
const adminKey = "configured-key-of-the-tests"

// serviceOptions are what a shop is opened with.
type serviceOptions struct {
	shop.Options
	httpapi.Config
}

// openService opens a real service on a database in a folder.
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

// testService is a real service behind a real listener, and a road to it that can be told to lose things.
type testService struct {
	*faultyNetwork
	t       *testing.T
	service *shop.Service
	url     string                                                  // ends in /v1
	dial    func(context.Context, string, string) (net.Conn, error) // nil: over the real network
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
	s := &testService{faultyNetwork: &faultyNetwork{shop: api}, t: t, service: api.Service}
	server := httptest.NewServer(s.faultyNetwork)
	t.Cleanup(server.Close)
	s.url = server.URL + "/v1"
	return s
}

// client makes a client with the admin key.
func (s *testService) client(options ...client.Option) *client.Client {
	s.t.Helper()
	return s.clientWith(adminKey, options...)
}

// clientWith makes a client whose every attempt has a connection of its own: where an old connection turns out to be
// closed, net/http itself sends a request again, and no test could count attempts.
func (s *testService) clientWith(key string, options ...client.Option) *client.Client {
	s.t.Helper()
	own := client.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: s.dial}})
	c, err := client.New(s.url, key, append([]client.Option{own}, options...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// addPet adds an available animal.
func (s *testService) addPet(name string) client.Pet {
	s.t.Helper()
	return must(s.client().CreatePet(s.t.Context(), client.NewPet{Name: name, CategoryID: 1, Status: client.PetAvailable}))(s.t)
}

// must returns a value, or ends the test with its error.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// wantCode ends the test unless an error has a code.
func wantCode(t *testing.T, err error, code client.Code) {
	t.Helper()
	if !client.IsCode(err, code) {
		t.Fatalf("got the error %v, want %s", err, code)
	}
}

// faultyNetwork is the way to a shop. It remembers every request, and what happens to the next ones can be decided before.
type faultyNetwork struct {
	shop  http.Handler
	mu    sync.Mutex
	seen  []request
	fates []fault
}

// request is one that went along the road.
type request struct {
	method, address string
	header          http.Header
	body            string
}

// fault is what happens to one request.
type fault func(w http.ResponseWriter, r *http.Request, shop http.Handler)

// inject decides what happens to the next requests; those after them arrive.
func (r *faultyNetwork) inject(fates ...fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fates = fates
}

// requests are those since they were last asked for.
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
	happens := passThrough
	r.mu.Lock()
	r.seen = append(r.seen, request{q.Method, q.URL.String(), q.Header.Clone(), string(body)})
	if len(r.fates) > 0 {
		happens, r.fates = r.fates[0], r.fates[1:]
	}
	r.mu.Unlock()
	happens(w, q, r.shop)
}

// arrives: nothing happens on the way.
func passThrough(w http.ResponseWriter, r *http.Request, shop http.Handler) { shop.ServeHTTP(w, r) }

// isLost: the connection is cut before the shop hears of the request.
func dropRequest(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// losesAnswer: the connection is cut when the shop has done its work and answered.
func dropResponse(_ http.ResponseWriter, r *http.Request, shop http.Handler) {
	shop.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// losesHalf: the connection is cut in the middle of the answer.
func cutResponse(w http.ResponseWriter, r *http.Request, shop http.Handler) {
	whole := httptest.NewRecorder()
	shop.ServeHTTP(whole, r)
	for name, values := range whole.Header() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
	w.WriteHeader(whole.Code)
	w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// hangs: nothing is heard of the request again, until its sender gives up.
func hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }

// gets: somebody on the way answers, and the shop does not hear of the request. Each header is a name and its value.
func respond(status int, body string, headers ...string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for pair := range slices.Chunk(headers, 2) {
			w.Header().Set(pair[0], pair[1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// respondAfter is gets for a request that the shop has answered all the same.
func respondAfter(status int) fault {
	return func(w http.ResponseWriter, r *http.Request, shop http.Handler) {
		shop.ServeHTTP(httptest.NewRecorder(), r)
		respond(status, proxyPage, "Content-Type", "text/html")(w, r, shop)
	}
}

const proxyPage = "<html><head><title>502 Bad Gateway</title></head></html>"

// apiError is the body of an error as the service writes it.
func apiError(status int, code client.Code) string {
	return fmt.Sprintf(`{"code":%q,"message":"Said on purpose.","status":%d}`, code, status)
}

// exampleShop is a service for one example.
type exampleShop struct{ URL, Key string }

// serveExample runs a service until close is called.
func serveExample() (_ exampleShop, close func()) {
	folder, err := os.MkdirTemp("", "animalstore")
	if err != nil {
		panic(err)
	}
	api, store, err := openService(context.Background(), folder, serviceOptions{})
	if err != nil {
		panic(err)
	}
	report := func(err error) { fmt.Println("The service has an error:", err) } // which no example expects
	working, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { api.Service.Work(working, report) })
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

// exampleClient is a client of a service that runs until close is called.
func exampleClient() (c *client.Client, close func()) {
	shop, close := serveExample()
	c, err := client.New(shop.URL, shop.Key)
	if err != nil {
		panic(err)
	}
	return c, close
}
