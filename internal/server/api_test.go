package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/httpapi"
	"animalstore/internal/server"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// waitLimit only prevents a broken server from blocking the tests forever.
const waitLimit = 5 * time.Minute

// service is the API of a real shop behind the server that the program uses.
type service struct {
	*shoptest.Shop
	t    *testing.T
	addr string
	log  *logBuffer
	stop func() // stops the server and checks that it ends without an error
}

func serve(t *testing.T) *service {
	t.Helper()
	s := &service{Shop: shoptest.Open(t, shoptest.Options{}), t: t, log: &logBuffer{}}
	log := slog.New(slog.NewTextHandler(s.log, nil))
	handler, err := httpapi.New(httpapi.Config{Service: s.Service, Log: log, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = listener.Addr().String()
	running, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- server.New(server.Config{MaxConnections: 1000, Log: log}).Run(running, listener, handler, handler.Stopping)
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// logBuffer is a log that is safe for concurrent use.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// response is a response whose body has already been read.
type response struct {
	status int
	header http.Header
	body   string
}

func (r response) String() string {
	return fmt.Sprintf("%d %.300s", r.status, strings.TrimSpace(r.body))
}

// dial opens a connection on which the test sends and receives bytes.
func (s *service) dial() (net.Conn, *bufio.Reader) {
	s.t.Helper()
	connection, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { connection.Close() })
	connection.SetDeadline(time.Now().Add(waitLimit))
	return connection, bufio.NewReader(connection)
}

func receive(reader *bufio.Reader) (response, error) {
	got, err := http.ReadResponse(reader, nil)
	if err != nil {
		return response{}, err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	return response{got.StatusCode, got.Header, string(body)}, err
}

// sendRaw sends the request text unchanged and reads one response.
func (s *service) sendRaw(request string) (response, error) {
	s.t.Helper()
	connection, reader := s.dial()
	defer connection.Close()
	// The request is sent in the background because the response may arrive before the entire request has
	// been sent.
	go io.WriteString(connection, request)
	return receive(reader)
}

// send sends a request with a key. Each header field has the form "Name: value".
func (s *service) send(method, path, key, body string, fields ...string) response {
	s.t.Helper()
	request, err := http.NewRequest(method, "http://"+s.addr+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		request.Header.Set(name, value)
	}
	got, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer got.Body.Close()
	content, err := io.ReadAll(got.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response{got.StatusCode, got.Header, string(content)}
}

// expect sends a request with the configured key and checks the status of the response.
func (s *service) expect(status int, method, path, body string) response {
	s.t.Helper()
	got := s.send(method, path, shoptest.AdminKey, body)
	if got.status != status {
		s.t.Fatalf("%s %s: got %v, want status %d", method, path, got, status)
	}
	return got
}

func decode[T any](t *testing.T, body string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return value
}

// countPets returns the number of animals, of which there must be fewer than 100.
func (s *service) countPets() int {
	s.t.Helper()
	page, err := s.ListPets(s.t.Context(), shop.PetList{PageRequest: shop.PageRequest{Limit: 100}})
	if err != nil || page.More {
		s.t.Fatalf("got more than 100 animals, or %v", err)
	}
	return len(page.Items)
}
