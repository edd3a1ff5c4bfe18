package httpapi

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// pipeListener is a net.Listener that accepts the connections in the channel.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	if connection, ok := <-l; ok {
		return connection, nil
	}
	return nil, net.ErrClosed
}

func (l pipeListener) Close() error { close(l); return nil }

func (pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// pipeClient is a client on a connection without any buffer. Each write by the service waits until the client
// reads it, so a client that does not read stops the service at once.
type pipeClient struct {
	net.Conn
	ended chan struct{} // closed when the service has handled the request
}

// overPipe sends a GET request over a connection without any buffer.
func (s *testShop) overPipe(t *testing.T, path, key string, headers ...string) *pipeClient {
	t.Helper()
	client, ours := net.Pipe()
	c := &pipeClient{client, make(chan struct{})}
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(c.ended)
		w.Header().Set("Connection", "close")
		s.api.ServeHTTP(w, r)
	})}
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	listener := make(pipeListener, 1)
	listener <- ours
	go server.Serve(listener)
	fmt.Fprintf(client, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n", path, key, strings.Join(append(headers, ""), "\r\n"))
	return c
}

// wantStatus reads the status of the response. Afterwards the service waits for the client to read on.
func (c *pipeClient) wantStatus(t *testing.T, status string) {
	t.Helper()
	want := "HTTP/1.1 " + status
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("got %s (%v), want %s", got, err, want)
	}
}
