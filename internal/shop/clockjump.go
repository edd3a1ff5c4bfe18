package shop

import (
	"context"
	"sync"
	"time"
)

// clockJump is how far a clock must deviate from the elapsed time to count as having been set.
const clockJump = time.Minute

// clockGuard compares a wall clock with the monotonic clock to notice when the wall clock is set. Two things
// must not happen: data removed too early because the clock was set forward, and data kept forever because it
// was stamped before the clock was set back. The guard knows only about jumps while the process runs.
type clockGuard struct {
	mu       sync.Mutex
	shown    time.Time     // the wall clock when it was last aligned
	shownAt  time.Time     // the monotonic clock at that moment
	ahead    time.Duration // how far the wall clock was set forward, less what it was set back since
	jumpedAt time.Time     // the monotonic time of the last jump forward
	setBack  bool          // the clock was set back and the stored times have not been corrected yet
}

// newClockGuard starts with setBack, because the clock may have been set back before the process started.
func newClockGuard(now time.Time) *clockGuard {
	return &clockGuard{shown: now, shownAt: time.Now(), setBack: true}
}

// observe compares a reading of the wall clock with the elapsed time and remembers a jump.
func (g *clockGuard) observe(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	elapsed := time.Since(g.shownAt)
	jump := now.Sub(g.shown) - elapsed
	switch {
	case jump > clockJump:
		g.ahead, g.jumpedAt = g.ahead+jump, time.Now()
	case jump < -clockJump:
		g.ahead, g.setBack = max(0, g.ahead+jump), true
	default:
		return
	}
	g.shown, g.shownAt = now, g.shownAt.Add(elapsed)
}

// cutoff returns a time such that everything stamped before it is at least age old. Until age has passed
// since a jump forward, rows stamped before the jump may exist that look older than they are, so the cutoff
// moves back by the jump.
func (g *clockGuard) cutoff(now time.Time, age time.Duration) time.Time {
	g.observe(now)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ahead > 0 && time.Since(g.jumpedAt) < age {
		return now.Add(-age - g.ahead)
	}
	return now.Add(-age)
}

// takeSetBack reports whether the clock was set back since the last call.
func (g *clockGuard) takeSetBack() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	setBack := g.setBack
	g.setBack = false
	return setBack
}

// requeueSetBack makes takeSetBack report true again, after the correction failed.
func (g *clockGuard) requeueSetBack() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.setBack = true
}

// cutoff is clockGuard.cutoff by the store's clock.
func (s *Service) cutoff(tx ReadTx, age time.Duration) (time.Time, error) {
	now, err := tx.Now()
	return s.clockGuard.cutoff(now, age), err
}

// latest returns the later of two times. It keeps updatedAt from going backwards with the clock.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// MaxLead is how far ahead of the clock each kind of stored time can be if the clock was right when it was
// written.
type MaxLead struct {
	Jump    time.Duration // the tolerated difference between clocks
	Session time.Duration // the end of a session
	Retry   time.Duration // the next attempt of a delivery
	Claim   time.Duration // the end of a claim
}

// CheckClock reads the store's clock. If the clock was set back, CheckClock corrects the internal times that
// would otherwise wait until the old time comes again. Times that clients were promised, such as the end of a
// hold, stay.
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
