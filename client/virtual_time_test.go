package client_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/client"
)

// memoryNetwork is a network in memory, which virtual time passes over.
type memoryNetwork struct {
	calls  chan net.Conn
	closed chan struct{}
	mu     sync.Mutex
	conns  []net.Conn
}

func (w *memoryNetwork) Accept() (net.Conn, error) {
	select {
	case conn := <-w.calls:
		return conn, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *memoryNetwork) Addr() net.Addr { return &net.TCPAddr{} }

func (w *memoryNetwork) Close() error { close(w.closed); return nil }

func (w *memoryNetwork) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	w.calls <- there
	return here, nil
}

// cuttingClient makes a client whose nth connection, from 0 on, is cut when it has read some bytes; whole never is.
func (s *virtualService) cuttingClient(bytesOf func(n int) int, options ...client.Option) *client.Client {
	s.t.Helper()
	n := 0
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		conn, err := s.dial(context.Background(), "", "")
		s.wire.mu.Lock()
		defer s.wire.mu.Unlock()
		s.wire.conns = append(s.wire.conns, conn)
		n++
		return &cutConn{Conn: conn, left: bytesOf(n - 1)}, err
	}}
	options = append([]client.Option{client.WithHTTPClient(&http.Client{Transport: transport, Timeout: 30 * time.Second})}, options...)
	return s.testService.client(options...)
}

const neverCut = math.MaxInt

// cut cuts every connection of a faulty client.
func (s *virtualService) cut() {
	s.wire.mu.Lock()
	defer s.wire.mu.Unlock()
	for _, conn := range s.wire.conns {
		conn.Close()
	}
	s.wire.conns = nil
}

type cutConn struct {
	net.Conn
	left int
}

// slowConn reads one byte after the other.
type slowConn struct{ net.Conn }

func (c slowConn) Read(p []byte) (int, error) {
	time.Sleep(10 * time.Millisecond)
	return c.Conn.Read(p[:1])
}

func (c *cutConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		c.Close()
		return 0, errors.New("cut on purpose")
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// virtualService is a real service in virtual time.
type virtualService struct {
	*testService
	wire *memoryNetwork
}

// inVirtualTime runs a test with a shop in virtual time. Everything that the test starts must end with it.
func inVirtualTime(t *testing.T, test func(*testing.T, *virtualService), change ...func(*serviceOptions)) {
	t.Helper()
	t.Parallel()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var set serviceOptions
		for _, fn := range change {
			fn(&set)
		}
		api, store, err := openService(t.Context(), folder, set)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		w := &memoryNetwork{calls: make(chan net.Conn), closed: make(chan struct{})}
		s := &testService{faultyNetwork: &faultyNetwork{shop: api}, t: t, service: api.Service, url: "http://animals.example/v1", dial: w.dial}
		server := http.Server{Handler: s.faultyNetwork, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
		var group sync.WaitGroup
		group.Go(func() { server.Serve(w) })
		defer group.Wait()
		defer server.Close()
		test(t, &virtualService{s, w})
	})
}

// working lets the service do its chores until the returned function is called.
func (s *virtualService) working() (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var group sync.WaitGroup
	group.Go(func() { s.service.Work(ctx, func(err error) { s.t.Error(err) }) })
	return func() { cancel(); group.Wait() }
}
