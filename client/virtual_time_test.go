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

// memoryNetwork is an in-memory network for tests in virtual time, which does not advance during real network
// I/O.
type memoryNetwork struct {
	dialled chan net.Conn
	closed  chan struct{}
	mu      sync.Mutex
	conns   []net.Conn
}

func (w *memoryNetwork) Accept() (net.Conn, error) {
	select {
	case conn := <-w.dialled:
		return conn, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *memoryNetwork) Addr() net.Addr { return &net.TCPAddr{} }

func (w *memoryNetwork) Close() error { close(w.closed); return nil }

func (w *memoryNetwork) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	w.dialled <- there
	return here, nil
}

// cuttingClient returns a client whose connections are cut. Connection n, counting from 0, is cut after
// bytesOf(n) bytes have been read.
func (s *virtualService) cuttingClient(bytesOf func(n int) int, options ...client.Option) *client.Client {
	s.t.Helper()
	n := 0
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		conn, err := s.dial(context.Background(), "", "")
		s.network.mu.Lock()
		defer s.network.mu.Unlock()
		s.network.conns = append(s.network.conns, conn)
		n++
		return &cutConn{Conn: conn, left: bytesOf(n - 1)}, err
	}}
	options = append([]client.Option{client.WithHTTPClient(&http.Client{Transport: transport, Timeout: 30 * time.Second})}, options...)
	return s.testService.client(options...)
}

const neverCut = math.MaxInt

// cut closes all connections that were opened by clients from cuttingClient.
func (s *virtualService) cut() {
	s.network.mu.Lock()
	defer s.network.mu.Unlock()
	for _, conn := range s.network.conns {
		conn.Close()
	}
	s.network.conns = nil
}

type cutConn struct {
	net.Conn
	left int
}

// slowConn is a connection that delivers one byte every 10 ms.
type slowConn struct{ net.Conn }

func (c slowConn) Read(p []byte) (int, error) {
	time.Sleep(10 * time.Millisecond)
	return c.Conn.Read(p[:1])
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

// virtualService is a real service that runs in virtual time.
type virtualService struct {
	*testService
	network *memoryNetwork
}

// inVirtualTime runs a test against a service in virtual time. All goroutines that the test starts must end
// before the test does.
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
		w := &memoryNetwork{dialled: make(chan net.Conn), closed: make(chan struct{})}
		s := &testService{faultyNetwork: &faultyNetwork{service: api}, t: t, service: api.Service, url: "http://animals.example/v1", dial: w.dial}
		server := http.Server{Handler: s.faultyNetwork, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
		var group sync.WaitGroup
		group.Go(func() { server.Serve(w) })
		defer group.Wait()
		defer server.Close()
		test(t, &virtualService{s, w})
	})
}

// working runs the service's background jobs until stop is called.
func (s *virtualService) working() (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var group sync.WaitGroup
	group.Go(func() { s.service.RunJobs(ctx, func(err error) { s.t.Error(err) }) })
	return func() { cancel(); group.Wait() }
}
