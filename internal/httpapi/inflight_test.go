package httpapi

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"animalstore/internal/shop"
)

// Clients that do not read their responses do not block other clients. This holds with and without an API
// key.
func TestClientsThatDoNotReadBlockNobody(t *testing.T) {
	t.Parallel()
	const limit = 3
	s := newShop(t, func(c *Config) { c.MaxInFlight = limit })
	for i := range 4 * limit {
		if path := "/v1/openapi.json"; i%2 == 0 {
			s.overPipe(t, path, adminKey).wantStatus(t, "200")
		} else {
			s.overPipe(t, path, "").wantStatus(t, "200")
		}
	}
	s.do("GET", "/v1/pets", "").want(t, 200, "[]")
}

// Requests that exceed the limit are refused immediately, and accepted requests are served. Clients that
// send their body slowly do not block other clients.
func TestExcessRequestsAreRefused(t *testing.T) {
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
	entered, release := s.Store.HoldWrites()
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
