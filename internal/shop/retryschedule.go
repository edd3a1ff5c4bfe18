package shop

import (
	"math/rand/v2"
	"time"
)

// retrySchedule lists how long a delivery waits after each failed attempt. When an attempt fails and no wait is left
// in the list, there are no more attempts, and the delivery has failed.
var retrySchedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour,
	20 * time.Hour, 24 * time.Hour,
}

// maxRetryAfter is the longest wait that a receiver can request with the Retry-After header.
const maxRetryAfter = 24 * time.Hour

// jitter randomly lengthens or shortens a wait by up to a tenth, so that deliveries that failed at the same
// time are not all retried at the same time.
func jitter(wait time.Duration) time.Duration {
	return wait + time.Duration((rand.Float64()*0.2-0.1)*float64(wait))
}
