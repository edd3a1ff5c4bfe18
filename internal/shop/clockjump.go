package shop

import (
	"context"
	"sync"
	"time"
)

// clockJump is how far a clock must be off what has passed before it counts as set.
const clockJump = time.Minute

// steady watches a clock that may be set at any time. What is removed for its age must not go because the clock was put forward,
// and what was stamped before it was put back must not stay for ever. How much time has really passed is known while the
// process runs, and no longer.
type steady struct {
	mu     sync.Mutex
	clock  time.Time     // what it showed
	at     time.Time     // when that was, by what has passed
	ahead  time.Duration // how far it was put forward, as far as it was not put back since
	jumped time.Time     // when that was seen last, by what has passed
	back   bool          // it was put back, and nobody has seen to that yet
}

// newSteady begins with what the clock shows. It may have been put back before.
func newSteady(now time.Time) *steady { return &steady{clock: now, at: time.Now(), back: true} }

// see notes what the clock shows.
func (s *steady) see(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	passed := time.Since(s.at)
	jump := now.Sub(s.clock) - passed
	switch {
	case jump > clockJump:
		s.ahead, s.jumped = s.ahead+jump, time.Now()
	case jump < -clockJump:
		s.ahead, s.back = max(0, s.ahead+jump), true
	default:
		return
	}
	s.clock, s.at = now, s.at.Add(passed)
}

// before returns the time before which all is older than an age, whatever was done to the clock meanwhile.
func (s *steady) before(now time.Time, age time.Duration) time.Time {
	s.see(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ahead > 0 && time.Since(s.jumped) < age {
		return now.Add(-age - s.ahead)
	}
	return now.Add(-age)
}

// takeBack tells whether the clock was put back since it was asked last.
func (s *steady) takeBack() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	back := s.back
	s.back = false
	return back
}

// giveBack is for who could not see to it.
func (s *steady) giveBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.back = true
}

// longPast returns the time of the store's clock before which all is older than an age.
func (s *Service) longPast(tx ReadTx, age time.Duration) (time.Time, error) {
	now, err := tx.Now()
	return s.steady.before(now, age), err
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
	if s.steady.see(now); !s.steady.takeBack() {
		return nil
	}
	s.uses.setBack(s.now().Add(clockJump))
	err = s.bookkeep(ctx, func(tx BookkeepingTx) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		return tx.ClampFutureTimes(now, MaxLead{clockJump, SessionLifetime, jitterMost(retryAfter[len(retryAfter)-1]), ClaimDuration})
	})
	if err != nil {
		s.steady.giveBack()
	}
	return err
}
