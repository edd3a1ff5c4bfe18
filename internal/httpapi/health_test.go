package httpapi

import (
	"testing"

	"animalstore/internal/shop"
)

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
