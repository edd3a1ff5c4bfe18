package httpapi

import (
	"fmt"
	"testing"

	"animalstore/internal/shop"
)

// Clients that do not read their responses do not block others, with and without an API key.
func TestClientsThatDoNotReadBlockNobody(t *testing.T) {
	const limit = 3
	s := parallelShop(t, func(c *Config) { c.MaxInFlight = limit })
	for i := range 4 * limit {
		s.overPipe(t, "/v1/openapi.json", []string{adminKey, ""}[i%2]).wantStatus(t, "200")
	}
	s.do("GET", "/v1/pets", "").want(t, 200, "[]")
}

// Requests beyond the limit are refused, and accepted ones are served. Clients that send slowly block nobody.
func TestExcessRequestsAreRefused(t *testing.T) {
	const limit = 3
	s := parallelShop(t, func(c *Config) { c.MaxInFlight = limit })
	for range 2 * limit { // each of these clients sends only half a body
		fmt.Fprintf(s.dial(t), "POST /v1/pets HTTP/1.1\r\nHost: x\r\n%sContent-Length: 100\r\n\r\n{\"name\":", keyLine)
	}
	entered, release := s.Store.HoldWrites()
	accepted := s.postAll(t, limit, entered, "/v1/pets", `{"name":"Rex","categoryId":1}`)
	s.do("GET", "/v1/pets", "").wantError(t, 503, shop.Unavailable).wantHeaders(t, "Retry-After: 1")
	s.do("GET", "/livez", "").want(t, 200, "")
	s.do("GET", "/metrics", "").want(t, 200, "")
	release()
	accepted.Wait()
	s.do("GET", "/v1/pets", "").want(t, 200, "")
}

func TestReadinessFollowsStoreAndShutdown(t *testing.T) {
	s := parallelShop(t)
	s.do("GET", "/readyz", "").want(t, 200, `{"status":"ok"}`)
	s.Store.FailWith(func(bool) error { return errSecret })
	s.do("GET", "/readyz", "").wantError(t, 503, shop.Unavailable)
	s.do("GET", "/livez", "").want(t, 200, `{"status":"ok"}`)
	s.Store.FailWith(nil)
	s.do("GET", "/readyz", "").want(t, 200, `{"status":"ok"}`)
	s.api.Stopping()
	s.do("GET", "/readyz", "").wantError(t, 503, shop.Unavailable)
	s.do("GET", "/v1/pets", "").want(t, 200, "[]") // a node that is stopping still serves requests
}
