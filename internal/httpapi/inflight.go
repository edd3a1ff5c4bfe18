package httpapi

import "sync/atomic"

// semaphore are the places for what is done at once.
type semaphore struct {
	capacity int64
	held     atomic.Int64
}

// tryAcquire takes a place where there is one.
func (s *semaphore) tryAcquire() bool {
	if s.held.Add(1) > s.capacity {
		s.release()
		return false
	}
	return true
}

func (s *semaphore) release() { s.held.Add(-1) }

// defaultInFlight is far more than the machine can work on at once, and few enough to be served within a second or so.
const defaultInFlight = 1024
