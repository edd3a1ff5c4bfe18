package shop

import (
	"testing"
	"testing/synctest"
	"time"
)

// While time passes as it does, things go when they are old enough; when the clock is put forward, not before they are.
func TestSteady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := time.Duration(0) // how far the clock is off
		now := func() time.Time { return time.Now().Add(set).Round(0) }
		begun := now()
		s := newClockGuard(begun)
		const age = 24 * time.Hour
		old := func(stamp time.Time) bool { return stamp.Before(s.cutoff(now(), age)) }
		if !s.takeSetBack() || s.takeSetBack() {
			t.Error("whether it was put back before is asked once")
		}
		for range 25 {
			if old(begun) {
				t.Fatalf("%v after %v it is old", now().Sub(begun), begun)
			}
			time.Sleep(time.Hour)
		}
		if !old(begun) {
			t.Error("a day later it is not old")
		}

		young := now()
		set += 100 * age
		for range 24 {
			if old(young) {
				t.Fatal("what was written before the clock was put forward is taken for old")
			}
			time.Sleep(time.Hour)
		}
		after := now()
		if time.Sleep(time.Minute); !old(young) {
			t.Error("a day after the clock was put forward it is not old")
		}
		if time.Sleep(age); !old(after) {
			t.Error("what was written after it is not old")
		}

		young = now()
		set += 100 * age
		s.observe(now())
		set -= 100 * age // a mistake, and its correction
		if s.observe(now()); !s.takeSetBack() || old(young) {
			t.Error("it was not seen that the clock was put back")
		}
		if time.Sleep(age + time.Minute); !old(young) {
			t.Error("a day later it is not old, because of what the clock had shown")
		}
		if s.takeSetBack() {
			t.Error("it was put back once")
		}
		if s.requeueSetBack(); !s.takeSetBack() {
			t.Error("it is not seen to again")
		}
	})
}
