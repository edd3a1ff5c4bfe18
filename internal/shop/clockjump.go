package shop

import (
	"context"
	"sync"
	"time"
)

// clockJump is the largest tolerated difference between the time that has passed by the wall clock and by the
// monotonic clock. A larger difference means that the wall clock was set.
const clockJump = time.Minute

// clockGuard compares the wall clock with the monotonic clock to detect when the wall clock is set. It prevents two
// mistakes: removing data too early because the clock was set forward, and keeping data forever because it was
// stamped before the clock was set back. It detects only jumps that happen while the process is running.
type clockGuard struct {
	mu       sync.Mutex
	shown    time.Time     // the wall-clock time when the guard was created or last detected a jump
	shownAt  time.Time     // the monotonic time at the same moment
	ahead    time.Duration // how far the wall clock was set forward, minus how far it was set back afterwards
	jumpedAt time.Time     // the monotonic time of the last forward jump
	setBack  bool          // whether the clock was set back and the stored times still have to be corrected
}

// newClockGuard returns a guard whose setBack is true, because the clock may have been set back before the
// process started.
func newClockGuard(now time.Time) *clockGuard {
	return &clockGuard{shown: now, shownAt: time.Now(), setBack: true}
}

// observe compares a reading of the wall clock with the elapsed time and records a jump if the two differ by more
// than clockJump.
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

// cutoff returns a time such that everything stamped before it is at least as old as age. After a forward
// jump, rows stamped before the jump look older than they are. Until age has passed since the jump, cutoff
// therefore returns a time that is earlier by the length of the jump.
func (g *clockGuard) cutoff(now time.Time, age time.Duration) time.Time {
	g.observe(now)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ahead > 0 && time.Since(g.jumpedAt) < age {
		return now.Add(-age - g.ahead)
	}
	return now.Add(-age)
}

// takeSetBack reports whether the clock was set back since takeSetBack was last called.
func (g *clockGuard) takeSetBack() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	setBack := g.setBack
	g.setBack = false
	return setBack
}

// requeueSetBack makes the next call to takeSetBack return true. It is called if the stored times could not
// be corrected.
func (g *clockGuard) requeueSetBack() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.setBack = true
}

// cutoff returns clockGuard.cutoff for the current time by the store's clock.
func (s *Service) cutoff(tx ReadTx, age time.Duration) (time.Time, error) {
	now, err := tx.Now()
	return s.clockGuard.cutoff(now, age), err
}

// latest returns the later of two times. It keeps updatedAt from going backwards when the clock is set back.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// MaxLead limits how far stored times may be ahead of the clock. A time beyond its limit must have been
// written while the clock was wrong.
type MaxLead struct {
	Jump    time.Duration // the tolerated difference between clocks, which is added to each limit
	Session time.Duration // the limit for the end of a session
	Link    time.Duration // the limit for the end of a sign-in link
	Retry   time.Duration // the limit for the next attempt of a delivery
	Claim   time.Duration // the limit for the end of a claim
}

// CheckClock reads the store's clock and checks whether the clock was set back. If so, it corrects internal
// times that are now too far in the future. Without the correction, work scheduled for these times would wait
// until the clock reaches them. CheckClock does not change times that were promised to clients, such as the
// end of a hold.
func (s *Service) CheckClock(ctx context.Context) error {
	now, err := read(ctx, s, ReadTx.Now)
	if err != nil {
		return err
	}
	if s.clockGuard.observe(now); !s.clockGuard.takeSetBack() {
		return nil
	}
	s.lastUsed.clamp(s.now().Add(clockJump))
	s.lastSeen.clamp(s.now().Add(clockJump))
	err = s.bookkeep(ctx, func(tx BookkeepingTx) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		return tx.ClampFutureTimes(now, MaxLead{clockJump, LongSessionLifetime, SignInLinkLifetime, maxJittered(retrySchedule[len(retrySchedule)-1]), ClaimDuration})
	})
	if err != nil {
		s.clockGuard.requeueSetBack()
	}
	return err
}
