package httpapi

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// newLimitedShop returns a shop with a rate limit. The rate limiter's clock stands still until the test
// moves it forward.
func newLimitedShop(t *testing.T, rate int) (s *testShop, forward func(time.Duration)) {
	t.Helper()
	s = newShop(t, func(c *Config) { c.RateLimit = rate })
	start := time.Now()
	var passed atomic.Int64
	s.api.rateLimiter.now = func() time.Time { return start.Add(time.Duration(passed.Load())) }
	return s, func(d time.Duration) { passed.Add(int64(d)) }
}

// Every operation that requires an API key is rate-limited per key. Requests to unknown paths count, too. The
// response headers show how many requests are left.
func TestEveryKeyIsRateLimited(t *testing.T) {
	t.Parallel()
	s, _ := newLimitedShop(t, 1)
	for _, r := range append(requestPerOperation(), request{"none", "GET", "/v1/nothing", ""}) {
		key := bearing(s.key(shop.Admin))
		for left := 1; left >= -1; left-- { // two requests and one more than the burst allows
			got := s.do(r.method, r.path, r.body, key)
			want := fmt.Sprintf(`"default";r=%d;t=%d`, max(left, 0), 2-max(left, 0))
			if h := got.Header; h.Get("RateLimit-Policy") != `"default";q=2;w=2` || h.Get("RateLimit") != want {
				t.Errorf("%s: %v, want %s", r.operation, h, want)
			}
			if left >= 0 && got.StatusCode == 429 {
				t.Errorf("%s is limited too early: %s", r.operation, got.body)
			} else if left < 0 {
				got.wantError(t, 429, shop.RateLimited)
				if after, err := strconv.Atoi(got.Header.Get("Retry-After")); err != nil || after < 1 {
					t.Errorf("%s: Retry-After is %q", r.operation, got.Header.Get("Retry-After"))
				}
			}
		}
	}
	s.do("GET", "/v1/keys/current", "", bearing(s.key(shop.Admin))).want(t, 200, "")
	s.do("GET", "/livez", "").want(t, 200, "")
	if got := newShop(t).do("GET", "/v1/pets", ""); got.Header.Get("RateLimit") != "" || got.Header.Get("RateLimit-Policy") != "" {
		t.Errorf("without a limit: %v", got.Header)
	}
}

// The burst is twice the rate, as the RateLimit-Policy header says. The number of available requests
// increases at the rate until it reaches the burst.
func TestRateLimitAllowsABurst(t *testing.T) {
	t.Parallel()
	const rate = 10
	s, forward := newLimitedShop(t, rate)
	s.skipValidation = true
	for _, c := range []struct {
		passed time.Duration
		want   int
	}{{0, 2 * rate}, {0, 0}, {time.Second, rate}, {time.Hour, 2 * rate}} {
		forward(c.passed)
		served := 0
		for ; served <= 2*rate; served++ {
			got := s.do("GET", "/v1/keys/current", "")
			if got.StatusCode == 429 {
				break
			}
			if left := fmt.Sprintf(`"default";r=%d;`, c.want-served-1); !strings.HasPrefix(got.Header.Get("RateLimit"), left) {
				t.Errorf("after %d requests: %s, want %s", served+1, got.Header.Get("RateLimit"), left)
			}
		}
		if served != c.want {
			t.Errorf("%v later %d requests were served, want %d", c.passed, served, c.want)
		}
	}
}

// The rate limiter uses the monotonic clock. With the wall clock, setting the clock back would block all
// keys until the old time is reached again.
func TestRateLimitIgnoresTheWallClock(t *testing.T) {
	t.Parallel()
	if now := newRateLimiter(1).now(); now == now.Round(0) {
		t.Errorf("%v has no monotonic clock reading", now)
	}
}
