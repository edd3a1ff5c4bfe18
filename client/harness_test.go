package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/client"
	"animalstore/internal/httpapi"
	"animalstore/internal/leaktest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/webhook"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// testService is a real service that runs in virtual time.
type testService struct {
	*testNetwork
	shop *shoptest.Shop
	api  *httpapi.API
}

// inVirtualTime runs a test against a real service. Both run in virtual time, so that waiting for a retry takes no
// real time. All goroutines that the test starts must end before the test does.
func inVirtualTime(t *testing.T, test func(*testing.T, *testService), change ...func(*shop.Options)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var options shoptest.Options
		for _, fn := range change {
			fn(&options.Options)
		}
		s := shoptest.Open(t, options)
		api := shoptest.Must(httpapi.New(httpapi.Config{Service: s.Service, Log: slog.New(slog.DiscardHandler)}))(t)
		test(t, &testService{newTestNetwork(t, api), s, api})
	})
}

// withCannedResponses runs a test in virtual time with a server that sends only injected responses.
func withCannedResponses(t *testing.T, test func(*testing.T, *testNetwork)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		test(t, newTestNetwork(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			t.Errorf("unexpected request: %s %s", r.Method, r.URL)
		})))
	})
}

// testNetwork is an in-memory network between a client and a server. It records every request and injects
// faults.
type testNetwork struct {
	t      *testing.T
	server http.Handler
	dial   func(context.Context, string, string) (net.Conn, error)

	mu       sync.Mutex
	received []request
	faults   []fault
	conns    []net.Conn
}

type request struct {
	method, host, address string
	header                http.Header
	body                  string
	at                    time.Time
}

func newTestNetwork(t *testing.T, server http.Handler) *testNetwork {
	n := &testNetwork{t: t, server: server}
	n.dial = shoptest.ServeInMemory(t, n)
	return n
}

// client returns a client with the admin key.
func (n *testNetwork) client(options ...client.Option) *client.Client {
	n.t.Helper()
	return n.clientWith(shoptest.AdminKey, neverCut, options...)
}

// clientWith returns a client whose connection i, counting from 0, is cut after bytesOf(i) bytes have been
// read. Each attempt opens a new connection: on a reused connection, net/http may retry by itself, and the
// tests could not count the attempts.
func (n *testNetwork) clientWith(key string, bytesOf func(i int) int, options ...client.Option) *client.Client {
	n.t.Helper()
	dials := 0
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := n.dial(ctx, network, address)
		n.mu.Lock()
		defer n.mu.Unlock()
		n.conns = append(n.conns, conn)
		dials++
		return &cutConn{conn, bytesOf(dials - 1)}, err
	}
	h := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	options = append([]client.Option{client.WithHTTPClient(h)}, options...)
	return shoptest.Must(client.New("http://animals.example/v1", key, options...))(n.t)
}

func neverCut(int) int { return math.MaxInt }

type cutConn struct {
	net.Conn
	left int
}

func (c *cutConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		c.Close()
		return 0, errors.New("injected cut")
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// cut closes all connections.
func (n *testNetwork) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, conn := range n.conns {
		conn.Close()
	}
	n.conns = nil
}

// inject sets one fault for each of the next requests. Later requests reach the server unchanged.
func (n *testNetwork) inject(faults ...fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults, n.received = faults, nil
}

// injectAlways repeats the given faults a hundred times, which is enough for every test.
func (n *testNetwork) injectAlways(faults ...fault) { n.inject(slices.Repeat(faults, 100)...) }

// requests returns the requests since the last call of requests or inject.
func (n *testNetwork) requests() []request {
	n.mu.Lock()
	defer n.mu.Unlock()
	received := n.received
	n.received = nil
	return received
}

// waits returns the times between consecutive requests.
func (n *testNetwork) waits() (waits []time.Duration) {
	sent := n.requests()
	for i := range sent[1:] {
		waits = append(waits, sent[i+1].at.Sub(sent[i].at))
	}
	return waits
}

func (n *testNetwork) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	n.fault(request{r.Method, r.Host, r.URL.String(), r.Header.Clone(), string(body), time.Now()})(w, r, n.server)
}

// fault records a request and returns the fault for it.
func (n *testNetwork) fault(r request) fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.received = append(n.received, r)
	if len(n.faults) == 0 {
		return passThrough
	}
	next := n.faults[0]
	n.faults = n.faults[1:]
	return next
}

// fault handles one request. It either responds by itself, or calls the service and may change the response.
type fault func(w http.ResponseWriter, r *http.Request, service http.Handler)

// passThrough injects no fault. The service handles the request as usual.
func passThrough(w http.ResponseWriter, r *http.Request, service http.Handler) {
	service.ServeHTTP(w, r)
}

// dropRequest cuts the connection before the service sees the request.
func dropRequest(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// dropResponse cuts the connection after the service has handled the request.
func dropResponse(_ http.ResponseWriter, r *http.Request, service http.Handler) {
	handle(r, service)
	panic(http.ErrAbortHandler)
}

// cutResponse cuts the connection in the middle of the response.
func cutResponse(w http.ResponseWriter, r *http.Request, service http.Handler) {
	whole := handle(r, service)
	if whole.Body.Len() == 0 {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), whole.Header())
	// The body is shorter than Content-Length, so net/http cuts the connection.
	w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
	w.WriteHeader(whole.Code)
	w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
}

// proxyError simulates a proxy that sends an error page after the service has handled the request.
func proxyError(w http.ResponseWriter, r *http.Request, service http.Handler) {
	handle(r, service)
	respond(503, proxyPage, "Content-Type", "text/html")(w, r, service)
}

const proxyPage = "<html><head><title>502 Bad Gateway</title></head></html>"

// handle lets the service handle a request. It skips a request for an event stream, which would never end.
func handle(r *http.Request, service http.Handler) *httptest.ResponseRecorder {
	whole := httptest.NewRecorder()
	if r.Header.Get("Accept") != "text/event-stream" {
		service.ServeHTTP(whole, r)
	}
	return whole
}

// hang never sends a response.
func hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }

// goIdle returns a fault that sends a text on the stream and then sends nothing more.
func goIdle(text string) fault {
	return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		stream(text)(w, r, service)
		http.NewResponseController(w).Flush()
		hang(w, r, service)
	}
}

// respond returns a fault that sends this response instead of calling the service. The headers are
// alternating names and values.
func respond(status int, body string, headers ...string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for pair := range slices.Chunk(headers, 2) {
			w.Header().Add(pair[0], pair[1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// stream returns a fault that sends this text as an event stream and then closes it.
func stream(text string) fault {
	return respond(200, text, "Content-Type", "text/event-stream; charset=utf-8")
}

// refuse returns a fault that sends an error as the service would.
func refuse(status int, code client.Code, headers ...string) fault {
	return respond(status, errorBody(status, code), append(headers, "Content-Type", "application/json", "X-Request-Id", "r1")...)
}

func errorBody(status int, code client.Code) string {
	return fmt.Sprintf(`{"code":%q,"message":"An injected error.","status":%d}`, code, status)
}

// collect returns all items of a sequence and fails the test if there is an error.
func collect[T any](t *testing.T, items iter.Seq2[T, error]) (list []T) {
	t.Helper()
	for item, err := range items {
		list = append(list, shoptest.Must(item, err)(t))
	}
	return list
}

// lastError reads a sequence until it ends. It returns the number of items and the last error.
func lastError[T any](items iter.Seq2[T, error]) (n int, last error) {
	for _, err := range items {
		if last = err; err == nil {
			n++
		}
	}
	return n, last
}

func wantCode(t *testing.T, err error, code client.Code) {
	t.Helper()
	if !client.IsCode(err, code) {
		t.Fatalf("got error %v, want %s", err, code)
	}
}

func wantEqual[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// exampleShop is a running service that an example uses. Key is its admin key.
type exampleShop struct{ URL, Key string }

// serveExample starts a service, which runs until close is called.
func serveExample() (_ exampleShop, close func()) {
	folder, err := os.MkdirTemp("", "animalstore")
	check(err)
	s, err := shoptest.OpenAt(context.Background(), filepath.Join(folder, "test.db"), shop.Options{})
	check(err)
	api, err := httpapi.New(httpapi.Config{Service: s.Service, Log: slog.New(slog.DiscardHandler)})
	check(err)
	report := func(err error) { fmt.Println("The service has an error:", err) } // this output makes the example fail
	hooks := webhook.New(webhook.Config{Service: s.Service, AllowPrivate: true, Report: report})
	working, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { s.RunJobs(working, report) })
	work.Go(func() { hooks.Run(working) })
	server := httptest.NewServer(api)
	return exampleShop{server.URL + "/v1", shoptest.AdminKey}, func() {
		server.Close()
		stop()
		work.Wait()
		s.Store.Close()
		os.RemoveAll(folder)
	}
}

// exampleClient returns a client for a service that runs until close is called.
func exampleClient() (c *client.Client, close func()) {
	shop, close := serveExample()
	c, err := client.New(shop.URL, shop.Key)
	check(err)
	return c, close
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
