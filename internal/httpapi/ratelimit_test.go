package httpapi

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// Every operation that requires an API key is rate-limited per key. Requests to unknown paths count, too. A key can
// send as many requests at once as the rate allows in two seconds. The response headers show how many requests the key
// can send now. This number grows at the rate, up to that maximum.
func TestEveryKeyIsRateLimited(t *testing.T) {
	s := parallelShop(t, func(c *Config) { c.Limits = web.NewLimits(1) })
	start := time.Now()
	var passed atomic.Int64 // the rate limiter's clock stands still until the test moves it forward
	s.api.Limits.RequestRate.Now = func() time.Time { return start.Add(time.Duration(passed.Load())) }
	wantAllowed := func(n int, r request, key string) {
		t.Helper()
		for left := n - 1; left >= -1; left-- {
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
	none := request{"none", "GET", "/v1/nothing", ""}
	for _, r := range append(requestPerOperation(), none) {
		wantAllowed(2, r, bearing(s.key(shop.Admin)))
	}
	key := bearing(s.key(shop.Admin))
	for _, c := range []struct {
		later time.Duration
		want  int
	}{{0, 2}, {0, 0}, {time.Second, 1}, {time.Hour, 2}} {
		passed.Add(int64(c.later))
		wantAllowed(c.want, none, key)
	}
	s.do("GET", "/livez", "", key).want(t, 200, "")
	if got := newShop(t).do("GET", "/v1/pets", ""); got.Header.Get("RateLimit") != "" || got.Header.Get("RateLimit-Policy") != "" {
		t.Errorf("without a limit: %v", got.Header)
	}
}
