package shop

import (
	"math/rand/v2"
	"time"
)

// retrySchedule is how long a delivery waits after each failed attempt. When it is exhausted, the delivery
// has failed.
var retrySchedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour,
	20 * time.Hour, 24 * time.Hour,
}

// maxRetryAfter bounds the Retry-After header that a receiver can send.
const maxRetryAfter = 24 * time.Hour

// jitter changes a wait by up to a tenth, so that deliveries that failed together are not retried together.
func jitter(wait time.Duration) time.Duration {
	return wait + time.Duration((rand.Float64()*0.2-0.1)*float64(wait))
}

// maxJittered is the upper bound of jitter.
func maxJittered(wait time.Duration) time.Duration { return wait + wait/10 }
