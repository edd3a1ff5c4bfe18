package admission

import (
	"fmt"
	"testing"
	"time"
)

// Each key may use its burst at once, and then as much as the rate allows. A key's use does not affect other keys.
func TestRate(t *testing.T) {
	t.Parallel()
	r, now := NewRate(2, 4), time.Now()
	r.Now = func() time.Time { return now }
	want := func(key string, allowed bool, left float64) {
		t.Helper()
		if gotAllowed, gotLeft := r.Take(key); gotAllowed != allowed || gotLeft != left {
			t.Errorf("%s: got %v with %v left, want %v with %v left", key, gotAllowed, gotLeft, allowed, left)
		}
	}
	for left := 3.0; left >= 0; left-- {
		want("a", true, left)
	}
	want("a", false, 0)
	want("b", true, 3)
	now = now.Add(time.Second)
	want("a", true, 1)
}

// A key that has not used anything lately is forgotten. The number of keys is limited even if all of them are in use.
func TestRateForgetsKeys(t *testing.T) {
	t.Parallel()
	r, now := NewRate(1, 20), time.Now()
	r.Now = func() time.Time { return now }
	for range 20 {
		r.Take("busy")
	}
	for i := range 10 * maxRateKeys {
		now = now.Add(time.Millisecond)
		r.Take(fmt.Sprint("idle ", i))
		if i%1000 == 0 {
			r.Take("busy")
		}
	}
	if n := len(r.byKey); n > 4*maxIdleKeys {
		t.Errorf("%d keys are remembered, want only those of the last second and some more", n)
	}
	if _, left := r.Take("busy"); left >= 2 {
		t.Errorf("the busy key has %v left, as if it was forgotten", left)
	}
	for i := range 10 * maxRateKeys {
		r.Take(fmt.Sprint("attacker ", i))
		if n := len(r.byKey); n > maxRateKeys {
			t.Fatalf("%d keys are remembered", n)
		}
	}
}

// A Rate uses the monotonic clock. With the wall clock, setting the clock back would block all keys until the old time
// is reached again.
func TestRateIgnoresTheWallClock(t *testing.T) {
	t.Parallel()
	if now := NewRate(1, 1).Now(); now == now.Round(0) {
		t.Errorf("%v has no monotonic clock reading", now)
	}
}
