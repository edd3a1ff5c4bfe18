package shop

import (
	"context"
	"sync"
	"time"
)

// clockJump is how far a clock must be off what has passed before it counts as set.
const clockJump = time.Minute

// clockGuard watches a clock that may be set at any time. What is removed for its age must not go because the clock was put forward,
// and what was stamped before it was put back must not stay for ever. How much time has really passed is known while the
// process runs, and no longer.
type clockGuard struct {
	mu       sync.Mutex
	shown    time.Time     // what it showed
	shownAt  time.Time     // when that was, by what has passed
	ahead    time.Duration // how far it was put forward, as far as it was not put back since
	jumpedAt time.Time     // when that was seen last, by what has passed
	setBack  bool          // it was put back, and nobody has seen to that yet
}

// newClockGuard begins with what the clock shows. It may have been put back before.
func newClockGuard(now time.Time) *clockGuard {
	return &clockGuard{shown: now, shownAt: time.Now(), setBack: true}
}

// observe notes what the clock shows.
func (s *clockGuard) observe(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	passed := time.Since(s.shownAt)
	jump := now.Sub(s.shown) - passed
	switch {
	case jump > clockJump:
		s.ahead, s.jumpedAt = s.ahead+jump, time.Now()
	case jump < -clockJump:
		s.ahead, s.setBack = max(0, s.ahead+jump), true
	default:
		return
	}
	s.shown, s.shownAt = now, s.shownAt.Add(passed)
}

// cutoff returns the time before which all is older than an age, whatever was done to the clock meanwhile.
func (s *clockGuard) cutoff(now time.Time, age time.Duration) time.Time {
	s.observe(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ahead > 0 && time.Since(s.jumpedAt) < age {
		return now.Add(-age - s.ahead)
	}
	return now.Add(-age)
}

// takeSetBack tells whether the clock was put back since it was asked last.
func (s *clockGuard) takeSetBack() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	back := s.setBack
	s.setBack = false
	return back
}

// requeueSetBack is for who could not see to it.
func (s *clockGuard) requeueSetBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setBack = true
}

// cutoff returns the time of the store's clock before which all is older than an age.
func (s *Service) cutoff(tx ReadTx, age time.Duration) (time.Time, error) {
	now, err := tx.Now()
	return s.clockGuard.cutoff(now, age), err
}

// latest returns the later of two times. What is changed is never older than it was, whatever the clock says.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// MaxLead says how far ahead of now a time can be that a clock has written which was right.
type MaxLead struct {
	Jump    time.Duration // by which clocks may differ
	Session time.Duration // the end of a session
	Retry   time.Duration // the next attempt of a delivery
	Claim   time.Duration // the end of a claim
}

// CheckClock looks at the store's clock, and where it was put back, mends what would now have to wait for the old time to come
// again. What a client was promised until a time stays as it is.
func (s *Service) CheckClock(ctx context.Context) error {
	now, err := read(ctx, s, ReadTx.Now)
	if err != nil {
		return err
	}
	if s.clockGuard.observe(now); !s.clockGuard.takeSetBack() {
		return nil
	}
	s.lastUsed.clamp(s.now().Add(clockJump))
	err = s.bookkeep(ctx, func(tx BookkeepingTx) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		return tx.ClampFutureTimes(now, MaxLead{clockJump, SessionLifetime, maxJittered(retrySchedule[len(retrySchedule)-1]), ClaimDuration})
	})
	if err != nil {
		s.clockGuard.requeueSetBack()
	}
	return err
}
