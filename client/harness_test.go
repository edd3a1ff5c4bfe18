package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/client"
	"animalstore/internal/httpapi"
	"animalstore/internal/leaktest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// testService is a real service in virtual time.
type testService struct {
	*testNetwork
	shop *shoptest.Shop
	api  *httpapi.API
}

// inVirtualTime runs a test against a real service in virtual time, in which no retry takes any real time.
// All goroutines that the test starts must end before the test does.
func inVirtualTime(t *testing.T, test func(*testing.T, *testService), change ...func(*shop.Options)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var options shoptest.Options
		for _, fn := range change {
			fn(&options.Options)
		}
		s := shoptest.Open(t, options)
		api, err := httpapi.New(httpapi.Config{Service: s.Service, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		test(t, &testService{newTestNetwork(t, api), s, api})
	})
}

// withCannedResponses runs a test in virtual time with a server that sends the injected responses only.
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
	t       *testing.T
	server  http.Handler
	dialled chan net.Conn
	closed  chan struct{}

	mu       sync.Mutex
	received []request
	faults   []fault
	perCall  fault // the fault for every other request
	next     bool  // whether the next request gets the fault perCall
	conns    []net.Conn
}

type request struct {
	method, address string
	header          http.Header
	body            string
	at              time.Time
}

func newTestNetwork(t *testing.T, handler http.Handler) *testNetwork {
	n := &testNetwork{t: t, server: handler, dialled: make(chan net.Conn), closed: make(chan struct{})}
	server := http.Server{Handler: n, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(n) })
	t.Cleanup(func() { server.Close(); serving.Wait() })
	return n
}

func (n *testNetwork) Accept() (net.Conn, error) {
	select {
	case conn := <-n.dialled:
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *testNetwork) Addr() net.Addr { return &net.TCPAddr{} }

func (n *testNetwork) Close() error { close(n.closed); return nil }

const neverCut = math.MaxInt

// client returns a client with the admin key whose connections are never cut.
func (n *testNetwork) client(options ...client.Option) *client.Client {
	n.t.Helper()
	return n.clientWith(shoptest.AdminKey, func(int) int { return neverCut }, options...)
}

// clientWith returns a client whose connection i, counting from 0, is cut after bytesOf(i) bytes have been
// read. Each attempt opens a new connection: on a reused connection, net/http may retry by itself, and the
// tests could not count the attempts.
func (n *testNetwork) clientWith(key string, bytesOf func(i int) int, options ...client.Option) *client.Client {
	n.t.Helper()
	dials := 0
	dial := func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		n.dialled <- there
		n.mu.Lock()
		defer n.mu.Unlock()
		n.conns = append(n.conns, here)
		dials++
		return &cutConn{Conn: here, left: bytesOf(dials - 1)}, nil
	}
	h := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	return must(client.New("http://animals.example/v1", key, append([]client.Option{client.WithHTTPClient(h)}, options...)...))(n.t)
}

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

// injectPerCall applies a fault to the next request and then to every other one, so that every call needs
// one retry.
func (n *testNetwork) injectPerCall(f fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.perCall, n.next = f, f != nil
}

// requests returns the requests since the last call of requests or inject.
func (n *testNetwork) requests() []request {
	n.mu.Lock()
	defer n.mu.Unlock()
	received := n.received
	n.received = nil
	return received
}

func (n *testNetwork) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	n.fault(request{r.Method, r.URL.String(), r.Header.Clone(), string(body), time.Now()})(w, r, n.server)
}

// fault records a request and returns the fault for it.
func (n *testNetwork) fault(r request) (f fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.received = append(n.received, r)
	switch {
	case len(n.faults) > 0:
		f, n.faults = n.faults[0], n.faults[1:]
		return f
	case n.next:
		n.next = false
		return n.perCall
	}
	n.next = n.perCall != nil
	return passThrough
}

// addPet creates an available animal, without using the client.
func (s *testService) addPet(name string) shop.Pet {
	s.t.Helper()
	return s.shop.AddPet(s.t, name, 1, shop.Available)
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

// collect returns all items of a sequence and fails the test if there is an error.
func collect[T any](t *testing.T, items func(func(T, error) bool)) (list []T) {
	t.Helper()
	for item, err := range items {
		list = append(list, must(item, err)(t))
	}
	return list
}

// wantCode fails the test unless the error has this code.
func wantCode(t *testing.T, err error, code client.Code) {
	t.Helper()
	if !client.IsCode(err, code) {
		t.Fatalf("got error %v, want %s", err, code)
	}
}

// wantEqual fails the test unless both values are equal.
func wantEqual[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}
