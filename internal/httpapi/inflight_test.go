package httpapi

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// Clients that do not read their responses do not block other clients. This holds with and without an API
// key.
func TestClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	const limit = 3
	s := newShop(t, func(c *Config) { c.MaxInFlight = limit })
	for range 4 * limit {
		connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		connection.(*net.TCPConn).SetReadBuffer(4 << 10)
		go func() { // loops because some requests are refused while others compete
			for err := error(nil); err == nil; {
				_, err = io.WriteString(connection, "GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n")
			}
		}()
	}
	stuck := func() int { // returns the number of requests in progress, except its own
		body := string(s.do("GET", "/metrics", "").body)
		_, rest, _ := strings.Cut(body, "\nanimalstore_http_requests_in_flight ")
		var n int
		fmt.Sscan(rest, &n)
		return n - 1
	}
	// Wait until more requests are stuck than may be in flight. The number must stay that high for a
	// while, because it drops briefly between two responses on a connection. It also does not include a
	// request that is stuck in the last bytes of its response.
	for end, same := time.Now().Add(time.Minute), 0; same < 20; {
		if n := stuck(); n > limit {
			same++
		} else if same = 0; time.Now().After(end) {
			t.Fatalf("only %d clients are stuck", n)
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.do("GET", "/v1/pets", "").want(t, 200, "[]")
}

// Requests that exceed the limit are refused immediately, and accepted requests are served. Clients that
// send their body slowly do not block other clients.
func TestTooManyAtOnce(t *testing.T) {
	t.Parallel()
	const limit = 3
	s := newShop(t, func(c *Config) { c.MaxInFlight = limit })
	for range 2 * limit { // each of these clients sends only half a body
		connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		fmt.Fprintf(connection, "POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{\"name\":", adminKey)
	}
	entered, release := s.store.holdWrites()
	var wg sync.WaitGroup
	for range limit {
		wg.Go(func() {
			if got, err := s.tryDo("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`); err != nil || got.StatusCode != 201 {
				t.Errorf("an accepted request failed: %v %s", err, got.body)
			}
		})
		<-entered
	}
	got := s.do("GET", "/v1/pets", "")
	got.wantError(t, 503, shop.Unavailable)
	if got.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", got.Header.Get("Retry-After"))
	}
	s.do("GET", "/livez", "").want(t, 200, "")
	s.do("GET", "/metrics", "").want(t, 200, "")
	release()
	wg.Wait()
	s.do("GET", "/v1/pets", "").want(t, 200, "")
}
