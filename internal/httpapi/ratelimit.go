package httpapi

import (
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"animalstore/internal/shop"
)

// rateLimiter limits how many requests per second each API key may send to this node. Bursts of up to
// twice that number are allowed.
type rateLimiter struct {
	perSecond int // 0 means no limit
	now       func() time.Time
	mu        sync.Mutex
	byKey     map[int64]*rate.Limiter
}

func newRateLimiter(perSecond int) *rateLimiter {
	return &rateLimiter{perSecond: perSecond, now: time.Now, byKey: map[int64]*rate.Limiter{}}
}

func (l *rateLimiter) burst() int { return 2 * l.perSecond }

// limiter returns the limiter for a principal and creates it if necessary.
func (l *rateLimiter) limiter(principal int64) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter, ok := l.byKey[principal]
	if !ok {
		limiter = rate.NewLimiter(rate.Limit(l.perSecond), l.burst())
		l.byKey[principal] = limiter
	}
	return limiter
}

// check counts a request and sets the RateLimit headers. It fails with rate_limited if the API key has
// used up its limit.
func (l *rateLimiter) check(x *exchange) error {
	if l.perSecond == 0 {
		return nil
	}
	limiter, now := l.limiter(x.principal.ID()), l.now()
	allowed := limiter.AllowN(now, 1)
	left := limiter.TokensAt(now)
	untilFull := math.Ceil((float64(l.burst()) - left) / float64(l.perSecond))
	h := x.w.Header()
	h.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%d`, l.burst(), l.burst()/l.perSecond))
	h.Set("RateLimit", fmt.Sprintf(`"default";r=%d;t=%d`, int(left), int(untilFull)))
	if allowed {
		return nil
	}
	wait := math.Ceil((1 - left) / float64(l.perSecond))
	h.Set("Retry-After", strconv.Itoa(max(1, int(wait))))
	return shop.Errorf(shop.RateLimited, "This API key has sent too many requests; its limit is %d per second.", l.perSecond)
}
