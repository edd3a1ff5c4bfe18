package server

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
)

// A request's context ends when the client disconnects, even on a connection that has served requests before.
// It does not end when the client sends its next request early.
func TestRequestEndsWhenClientDisconnects(t *testing.T) {
	t.Parallel()
	const (
		get  = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
		post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
	)
	for name, disconnect := range map[string]func(*net.TCPConn) error{
		"close":      (*net.TCPConn).Close,
		"half-close": (*net.TCPConn).CloseWrite,
		"reset":      func(c *net.TCPConn) error { c.SetLinger(0); return c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			started, finish := make(chan context.Context), make(chan struct{})
			handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				io.ReadAll(r.Body)
				started <- r.Context()
				select {
				case <-r.Context().Done():
				case <-finish:
				}
			})
			running, stop := context.WithCancel(t.Context())
			server := New(Config{MaxConnections: 10, Log: slog.New(slog.DiscardHandler)})
			stopped := make(chan error, 1)
			go func() { stopped <- server.Run(running, listener, handler, func() {}) }()
			t.Cleanup(func() {
				stop()
				if err := <-stopped; err != nil {
					t.Error(err)
				}
			})
			client, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { client.Close() })
			send := func(request string) {
				t.Helper()
				if _, err := io.WriteString(client, request); err != nil {
					t.Fatal(err)
				}
			}
			send(get)
			for _, next := range []string{post, get, post} {
				ctx := <-started
				send(next) // sent before the response to the previous request
				if ctx.Err() != nil {
					t.Fatal("the request ended while its client was connected")
				}
				finish <- struct{}{}
			}
			ctx := <-started
			if err := disconnect(client.(*net.TCPConn)); err != nil {
				t.Fatal(err)
			}
			<-ctx.Done()
		})
	}
}
