package web

import (
	"fmt"
	"math"
	"net/http"
	"strconv"

	"animalstore/internal/shop"
)

// CheckRate counts a request with this principal's key, through the API and the staff pages together, and sets the
// RateLimit headers of the response. It fails with rate_limited if the key has used up its limit.
func (l *Limits) CheckRate(h http.Header, principal shop.Principal) error {
	limit := l.RequestRate
	if limit.PerSecond == 0 {
		return nil
	}
	allowed, left := limit.Take(principal.Actor())
	untilFull := math.Ceil((float64(limit.Burst) - left) / float64(limit.PerSecond))
	h.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%d`, limit.Burst, limit.Burst/limit.PerSecond))
	h.Set("RateLimit", fmt.Sprintf(`"default";r=%d;t=%d`, int(left), int(untilFull)))
	if allowed {
		return nil
	}
	wait := math.Ceil((1 - left) / float64(limit.PerSecond))
	h.Set("Retry-After", strconv.Itoa(max(1, int(wait))))
	return shop.Errorf(shop.RateLimited, "This API key has sent too many requests; its limit is %d per second.", limit.PerSecond)
}
