package shop

import (
	"testing"
	"testing/synctest"
	"time"
)

// After the clock is set forward, nothing counts as older than it is. Setting the clock back is reported only
// once.
func TestClockGuardMeasuresRealAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := time.Duration(0) // how far the clock has been set forward in total
		now := func() time.Time { return time.Now().Add(set).Round(0) }
		start := now()
		g := newClockGuard(start)
		const age = 24 * time.Hour
		old := func(stamp time.Time) bool { return stamp.Before(g.cutoff(now(), age)) }
		if !g.takeSetBack() || g.takeSetBack() {
			t.Error("a new guard must report one possible jump back from before the start")
		}
		for range 25 {
			if old(start) {
				t.Fatalf("a stamp counts as old after %v, want %v", now().Sub(start), age)
			}
			time.Sleep(time.Hour)
		}
		if !old(start) {
			t.Error("a stamp does not count as old after a day")
		}

		young := now()
		set += 100 * age
		for range 24 {
			if old(young) {
				t.Fatal("a stamp from before the jump forward counts as old too early")
			}
			time.Sleep(time.Hour)
		}
		after := now()
		if time.Sleep(time.Minute); !old(young) {
			t.Error("a stamp from before the jump forward does not count as old a day later")
		}
		if time.Sleep(age); !old(after) {
			t.Error("a stamp from after the jump forward does not count as old a day later")
		}

		young = now()
		set += 100 * age
		g.observe(now())
		set -= 100 * age // the clock was set forward by mistake and is corrected
		if g.observe(now()); !g.takeSetBack() || old(young) {
			t.Error("the jump back was not noticed")
		}
		if time.Sleep(age + time.Minute); !old(young) {
			t.Error("a stamp does not count as old a day later because of a jump that was corrected")
		}
		if g.takeSetBack() {
			t.Error("the same jump back was reported twice")
		}
		if g.requeueSetBack(); !g.takeSetBack() {
			t.Error("a requeued jump back was not reported again")
		}
	})
}
