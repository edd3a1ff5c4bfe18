package admission

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// maxIdleKeys is how many keys a Rate may remember although they have not used anything lately, and maxRateKeys is the
	// maximum number of all keys. Anybody can choose network addresses, so their number must be limited.
	maxIdleKeys = 1000
	maxRateKeys = 10_000
)

// Rate limits how often each key may do something per second. It allows bursts.
type Rate struct {
	PerSecond int // 0 means no limit
	Burst     int
	Now       func() time.Time // tests replace the clock
	mu        sync.Mutex
	byKey     map[string]*rate.Limiter
	tidyAt    int // the number of keys at which the keys that are no longer needed are forgotten
}

// NewRate returns a Rate that nothing has used yet.
func NewRate(perSecond, burst int) *Rate {
	return &Rate{PerSecond: perSecond, Burst: burst, Now: time.Now, byKey: map[string]*rate.Limiter{}, tidyAt: maxIdleKeys}
}

// Take counts one use by a key. allowed is false if the key has used up its limit. left is how many uses the key then
// has left.
func (r *Rate) Take(key string) (allowed bool, left float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	limiter, ok := r.byKey[key]
	if !ok {
		if len(r.byKey) >= r.tidyAt {
			r.tidy(now)
		}
		limiter = rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)
		r.byKey[key] = limiter
	}
	allowed = limiter.AllowN(now, 1)
	return allowed, limiter.TokensAt(now)
}

// tidy forgets the keys that have their whole burst left, because they need not be remembered. It copies the others,
// because a map does not shrink. If there are too many others, it forgets them as well.
func (r *Rate) tidy(now time.Time) {
	kept := map[string]*rate.Limiter{}
	for key, limiter := range r.byKey {
		if limiter.TokensAt(now) < float64(r.Burst) {
			kept[key] = limiter
		}
	}
	if len(kept) >= maxRateKeys {
		clear(kept)
	}
	r.byKey, r.tidyAt = kept, min(max(2*len(kept), maxIdleKeys), maxRateKeys)
}
