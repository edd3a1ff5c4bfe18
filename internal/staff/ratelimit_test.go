package staff

import (
	"net/http"
	"testing"
	"time"

	"animalstore/internal/admission"
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
	for range 3 { // the burst is twice the rate, and the sign-in counts, too
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

// A key that has used up its limits cannot sign in, neither with its secret nor with a link. A refused sign-in opens no
// session and does not use up the link.
func TestSignInsCountTowardsTheLimitsOfTheirKey(t *testing.T) {
	t.Parallel()
	limits := web.NewLimits(1)
	now := time.Now()
	limits.RequestRate.Now = func() time.Time { return now }
	s := newShop(t, Config{Limits: limits})
	key := s.Key(t, shop.PetsRead)
	principal := shoptest.Must(s.Authenticate(t.Context(), key.Secret))(t)
	link := shoptest.Must(s.CreateSignInLink(t.Context(), key.ID))(t)
	wantRefused := func() {
		t.Helper()
		for _, fields := range [][]string{{"/staff/sign-in", "key", key.Secret}, {"/staff/sign-in/link", "token", link.Token}} {
			got := s.browser().post(fields[0], fields[1:]...).want(429, "Too much at once").lacks("Sign out")
			if len(got.header["Set-Cookie"]) > 0 || got.header.Get("Retry-After") != "1" {
				t.Errorf("%s: got %v, want no cookie, and Retry-After: 1", got.request, got.header)
			}
		}
		if sessions := shoptest.Must(s.ListSessions(t.Context(), principal))(t); len(sessions) > 0 {
			t.Errorf("there are the sessions %v", sessions)
		}
	}
	for range 2 { // the burst is twice the rate
		if err := limits.CheckRate(http.Header{}, principal); err != nil {
			t.Fatal(err)
		}
	}
	wantRefused()
	now = now.Add(2 * time.Second)
	release := s.acquire(admission.PageRequests, principal, admission.PageRequests.Limit().PerKey)
	wantRefused()
	release()
	now = now.Add(2 * time.Second)
	s.browser().post("/staff/sign-in/link", "token", link.Token).wantRedirect("/")
	s.signedIn(key.Secret)
}
