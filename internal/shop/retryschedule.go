package shop

import (
	"math/rand/v2"
	"time"
)

// retrySchedule is how long a delivery waits after each attempt that failed; after the last of them it has failed for good.
var retrySchedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour,
	20 * time.Hour, 24 * time.Hour,
}

// maxRetryAfter is how long a receiver can put us off.
const maxRetryAfter = 24 * time.Hour

// jitter keeps deliveries that failed together from coming back together: it moves a wait by up to a tenth.
func jitter(wait time.Duration) time.Duration {
	return wait + time.Duration((rand.Float64()*0.2-0.1)*float64(wait))
}

// maxJittered is the most that jitter makes of a wait.
func maxJittered(wait time.Duration) time.Duration { return wait + wait/10 }
