package httpapi

import "sync/atomic"

// semaphore limits how many of something run at once. Nobody waits for it: beyond its capacity, requests
// are refused.
type semaphore struct {
	capacity int64
	held     atomic.Int64
}

// tryAcquire reports whether it acquired the semaphore. If so, the caller must release it.
func (s *semaphore) tryAcquire() bool {
	if s.held.Add(1) > s.capacity {
		s.release()
		return false
	}
	return true
}

func (s *semaphore) release() { s.held.Add(-1) }

// defaultInFlight is far more than a machine can work on at once, but few enough to be served within about
// a second.
const defaultInFlight = 1024
