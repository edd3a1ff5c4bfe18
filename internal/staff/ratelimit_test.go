package staff

import (
	"net/http"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/web"
)

// A key has one rate limit for the API and the pages. Other keys, and pages that need no key, are not affected.
func TestPagesCountTowardsTheRateLimit(t *testing.T) {
	t.Parallel()
	limits := web.NewLimits(2)
	now := time.Now()
	limits.RequestRate.Now = func() time.Time { return now }
	s := newShop(t, Config{Limits: limits})
	b, other := s.signedIn(configuredKey), s.signedIn(s.Key(t, shop.Admin).Secret)
	for range 4 { // the burst is twice the rate
		b.mustGet("/staff/pets")
	}
	if after := b.get("/staff/pets").want(429).header.Get("Retry-After"); after != "1" {
		t.Errorf("beyond the limit: got Retry-After %q, want 1", after)
	}
	principal := shoptest.Must(s.Service.Authenticate(t.Context(), configuredKey))(t)
	if err := limits.CheckRate(http.Header{}, principal); shop.AsError(err).Code != shop.RateLimited {
		t.Errorf("the API's check of the same key: got %v, want rate_limited", err)
	}
	other.mustGet("/staff/pets")
	b.mustGet("/staff/sign-in") // needs no key
	now = now.Add(time.Second)
	b.mustGet("/staff/pets")
}
