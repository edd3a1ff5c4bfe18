package shoptest

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
)

// ServeInMemory serves a handler on an in-memory network, which works in virtual time. The function that it returns
// opens a connection to the server. The server is closed when the test ends.
func ServeInMemory(t testing.TB, handler http.Handler) (dial func(context.Context, string, string) (net.Conn, error)) {
	l := &memoryListener{make(chan net.Conn), make(chan struct{})}
	server := http.Server{Handler: handler, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(l) })
	t.Cleanup(func() { server.Close(); serving.Wait() })
	return func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		l.dialled <- there
		return here, nil
	}
}

type memoryListener struct {
	dialled chan net.Conn
	closed  chan struct{}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.dialled:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Addr() net.Addr { return &net.TCPAddr{} }

func (l *memoryListener) Close() error { close(l.closed); return nil }
