package server_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/httpapi"
	"animalstore/internal/programtest"
	"animalstore/internal/server"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// run runs a server on a free port. stop stops it and checks that it ends without an error.
func run(t *testing.T, log *slog.Logger, handler http.Handler, drain func()) (addr string, stop func()) {
	t.Helper()
	return runWith(t, server.Config{Log: log}, server.Handlers{Serve: handler, Drain: drain})
}

// runWith is like run, but takes a configuration and handlers. It sets the fields that are the same in all tests.
func runWith(t *testing.T, config server.Config, handlers server.Handlers) (addr string, stop func()) {
	t.Helper()
	config.MaxConnections = 1000
	handlers.Refuse, handlers.IsProbe = http.NotFoundHandler(), func(*http.Request) bool { return false }
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	running, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- server.New(config).Run(running, listener, handlers)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: got %v, want no error", err)
		}
	})
	t.Cleanup(stop)
	return listener.Addr().String(), stop
}

func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	connection, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	connection.SetDeadline(time.Now().Add(programtest.WaitTimeout))
	return connection.(*net.TCPConn)
}

// service is the API of a real shop behind the server that the program uses.
type service struct {
	*shoptest.Shop
	*programtest.Program
	addr string
	stop func()
}

func serve(t *testing.T) *service { return serveWith(t, nil) }

// serveWith is like serve, but uses TLS unless the certificate is nil.
func serveWith(t *testing.T, certificate *server.Certificate) *service {
	t.Helper()
	s := &service{
		Shop: shoptest.Open(t, shoptest.Options{Options: shop.Options{ConfiguredKey: programtest.AdminKey}}),
		Program: &programtest.Program{T: t, Output: &programtest.Transcript{}, Client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}},
	}
	log := slog.New(slog.NewTextHandler(s.Output, nil))
	handler, err := httpapi.New(httpapi.Config{Service: s.Service, Log: log, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	s.addr, s.stop = runWith(t, server.Config{Log: log, Certificate: certificate},
		server.Handlers{Serve: handler, Malformed: handler.Malformed, Drain: handler.Stopping})
	s.URL = "http://" + s.addr
	return s
}

func receive(reader *bufio.Reader) (programtest.Response, error) {
	got, err := http.ReadResponse(reader, nil)
	if err != nil {
		return programtest.Response{}, err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	return programtest.Response{Status: got.StatusCode, Header: got.Header, Body: string(body)}, err
}

// sendRaw sends the request text unchanged and reads one response.
func (s *service) sendRaw(request string) (programtest.Response, error) {
	s.T.Helper()
	connection := dial(s.T, s.addr)
	defer connection.Close()
	go io.WriteString(connection, request) // the response may arrive before the entire request has been sent
	return receive(bufio.NewReader(connection))
}

// A server that is stopping lets a request in progress finish, even if its body is still arriving, but accepts no new
// connections.
func TestStopWaitsForRequestsInProgress(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	body, rest := io.Pipe()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(started)
		io.Copy(w, r.Body)
	})
	addr, stop := run(t, slog.New(slog.DiscardHandler), handler, func() {})
	go func() {
		<-started
		go stop()
		for { // wait until the listener is closed, which is the first step of the stop
			connection, err := net.Dial("tcp", addr)
			if err != nil {
				break
			}
			connection.Close()
		}
		for range 1000 { // many small pieces, so that the client would still be sending if the stop cut its connection
			io.WriteString(rest, "piece ")
		}
		rest.Close()
	}()
	response, err := http.Post("http://"+addr, "text/plain", body)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err != nil || string(got) != strings.Repeat("piece ", 1000) {
		t.Errorf("got %d bytes, %v, want the complete response", len(got), err)
	}
}

// A server that is about to stop still responds, but tells its clients to close their connections. Otherwise, it
// might close a connection while a client is sending its next request.
func TestStoppingServerSendsItsClientsAway(t *testing.T) {
	t.Parallel()
	var addr string
	isLast := func() bool {
		response, err := http.Get("http://" + addr)
		if err != nil {
			t.Error(err)
			return false
		}
		defer response.Body.Close()
		return response.Close
	}
	drained := false
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	addr, stop := run(t, slog.New(slog.DiscardHandler), handler, func() { drained = isLast() })
	if isLast() {
		t.Error("a running server sent its client away")
	}
	stop()
	if !drained {
		t.Error("a stopping server let its client keep the connection")
	}
}

// A request's context ends when the client disconnects, even on a connection that has served requests before.
// It does not end when the client sends its next request early.
func TestRequestEndsWhenClientDisconnects(t *testing.T) {
	t.Parallel()
	const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	const post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
	for name, disconnect := range map[string]func(*net.TCPConn) error{
		"close":      (*net.TCPConn).Close,
		"half-close": (*net.TCPConn).CloseWrite,
		"reset":      func(c *net.TCPConn) error { c.SetLinger(0); return c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started, finish := make(chan context.Context), make(chan struct{})
			handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				io.ReadAll(r.Body)
				started <- r.Context()
				select {
				case <-r.Context().Done():
				case <-finish:
				}
			})
			addr, _ := run(t, slog.New(slog.DiscardHandler), handler, func() {})
			client := dial(t, addr)
			io.WriteString(client, get)
			for _, next := range []string{post, get, post} {
				ctx := <-started
				io.WriteString(client, next) // sent before the response to the previous request has arrived
				if ctx.Err() != nil {
					t.Fatal("the request ended while its client was connected")
				}
				finish <- struct{}{}
			}
			ctx := <-started
			if err := disconnect(client); err != nil {
				t.Fatal(err)
			}
			<-ctx.Done()
		})
	}
}
