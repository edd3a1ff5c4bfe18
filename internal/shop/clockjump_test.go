package shop

import (
	"testing"
	"testing/synctest"
	"time"
)

// After the clock is set forward, nothing counts as older than it is. Setting the clock back is reported once.
func TestClockGuardMeasuresRealAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := time.Duration(0) // how far the clock has been set forward in total
		now := func() time.Time { return time.Now().Add(set).Round(0) }
		start := now()
		g := newClockGuard(start)
		const age = 24 * time.Hour
		wantOld := func(what string, stamp time.Time, want bool) {
			t.Helper()
			if old := stamp.Before(g.cutoff(now(), age)); old != want {
				t.Fatalf("a stamp from %s counts as old: %v, want %v", what, old, want)
			}
		}
		wantSetBack := func(what string, want bool) {
			t.Helper()
			if got := g.takeSetBack(); got != want {
				t.Errorf("%s, a jump back is reported: %v, want %v", what, got, want)
			}
		}
		wantSetBack("at the start, when the clock may have been set back before", true)
		wantSetBack("the second time", false)
		for range 25 {
			wantOld("the start", start, false)
			time.Sleep(time.Hour)
		}
		wantOld("the start", start, true)

		young := now()
		set += 100 * age
		for range 24 {
			wantOld("before the jump forward", young, false)
			time.Sleep(time.Hour)
		}
		after := now()
		time.Sleep(time.Minute)
		wantOld("before the jump forward", young, true)
		time.Sleep(age)
		wantOld("after the jump forward", after, true)

		young = now()
		set += 100 * age
		g.observe(now())
		set -= 100 * age // the clock was set forward by mistake and is corrected
		g.observe(now())
		wantSetBack("after the correction", true)
		wantOld("before a jump that was corrected", young, false)
		time.Sleep(age + time.Minute)
		wantOld("before a jump that was corrected", young, true)
		wantSetBack("after it was reported", false)
		g.requeueSetBack()
		wantSetBack("after it was requeued", true)
	})
}
