package web

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"animalstore/internal/shop"
)

// RateLimiter limits how many requests per second each API key may send to this node, through the API and the
// staff pages together. Bursts of up to twice that number are allowed.
type RateLimiter struct {
	Now       func() time.Time // tests replace the clock
	perSecond int              // 0 means no limit
	mu        sync.Mutex
	byKey     map[int64]*rate.Limiter
}

// NewRateLimiter returns a limiter that allows this number of requests per second for each key. 0 means no limit.
func NewRateLimiter(perSecond int) *RateLimiter {
	return &RateLimiter{perSecond: perSecond, Now: time.Now, byKey: map[int64]*rate.Limiter{}}
}

func (l *RateLimiter) burst() int { return 2 * l.perSecond }

// limiter returns the limiter for the principal with this id and creates it if necessary.
func (l *RateLimiter) limiter(principal int64) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter, ok := l.byKey[principal]
	if !ok {
		limiter = rate.NewLimiter(rate.Limit(l.perSecond), l.burst())
		l.byKey[principal] = limiter
	}
	return limiter
}

// Check counts a request with this principal's key and sets the RateLimit headers of the response. It fails with
// rate_limited if the key has used up its limit.
func (l *RateLimiter) Check(h http.Header, principal shop.Principal) error {
	if l.perSecond == 0 {
		return nil
	}
	limiter, now := l.limiter(principal.ID()), l.Now()
	allowed := limiter.AllowN(now, 1)
	left := limiter.TokensAt(now)
	untilFull := math.Ceil((float64(l.burst()) - left) / float64(l.perSecond))
	h.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%d`, l.burst(), l.burst()/l.perSecond))
	h.Set("RateLimit", fmt.Sprintf(`"default";r=%d;t=%d`, int(left), int(untilFull)))
	if allowed {
		return nil
	}
	wait := math.Ceil((1 - left) / float64(l.perSecond))
	h.Set("Retry-After", strconv.Itoa(max(1, int(wait))))
	return shop.Errorf(shop.RateLimited, "This API key has sent too many requests; its limit is %d per second.", l.perSecond)
}
