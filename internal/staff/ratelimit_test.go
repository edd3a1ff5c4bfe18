package staff

import (
	"net/http"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// A key has one rate limit for the API and the pages. Other keys, and pages that need no key, are not affected.
func TestPagesCountTowardsTheRateLimit(t *testing.T) {
	t.Parallel()
	limiter := web.NewRateLimiter(2)
	now := time.Now()
	limiter.Now = func() time.Time { return now }
	s := newShop(t, Config{RateLimiter: limiter})
	b, other := s.signedIn(configuredKey), s.signedIn(s.Key(t, shop.Admin).Secret)
	for i := range 4 { // the burst is twice the rate
		if got := b.get("/staff/pets"); got.status != http.StatusOK {
			t.Fatalf("request %d: got %d, want 200", i+1, got.status)
		}
	}
	got := b.get("/staff/pets")
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "1" {
		t.Errorf("beyond the limit: got %d with Retry-After %q, want 429 with 1", got.status, got.header.Get("Retry-After"))
	}
	principal, err := s.Service.Authenticate(t.Context(), configuredKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := limiter.Check(http.Header{}, principal); shop.AsError(err).Code != shop.RateLimited {
		t.Errorf("the API's check of the same key: got %v, want rate_limited", err)
	}
	if got := other.get("/staff/pets"); got.status != http.StatusOK {
		t.Errorf("another key: got %d, want 200", got.status)
	}
	if got := b.get("/staff/sign-in"); got.status != http.StatusOK {
		t.Errorf("a page that needs no key: got %d, want 200", got.status)
	}
	now = now.Add(time.Second)
	if got := b.get("/staff/pets"); got.status != http.StatusOK {
		t.Errorf("a second later: got %d, want 200", got.status)
	}
}
