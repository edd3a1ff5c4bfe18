package httpapi

import "sync/atomic"

// semaphore limits how many operations of one kind run at the same time. Callers never wait. A request
// that exceeds the capacity is refused.
type semaphore struct {
	capacity int64
	held     atomic.Int64
}

// tryAcquire reports whether it acquired the semaphore. If it did, the caller must call release.
func (s *semaphore) tryAcquire() bool {
	if s.held.Add(1) > s.capacity {
		s.release()
		return false
	}
	return true
}

func (s *semaphore) release() { s.held.Add(-1) }

// defaultInFlight is far more requests than a machine can process in parallel, but few enough that all of
// them are served within about a second.
const defaultInFlight = 1024
