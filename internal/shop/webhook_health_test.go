package shop

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A webhook becomes down when all attempts of the last five minutes have failed, and there were at least ten. Whatever
// happens, it is down until a message is accepted.
func TestDownFollowsTheAttempts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type made struct {
			at       time.Time
			accepted bool
		}
		var all []made
		down, now, hook := false, time.Unix(1_000_000, 0), Webhook{Enabled: true}
		for range rapid.IntRange(1, 60).Draw(t, "attempts") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "wait")) * time.Second)
			accepted := rapid.IntRange(0, 19).Draw(t, "accepted") == 0
			all = append(all, made{now, accepted})
			attempt := Attempt{At: now, Status: 500}
			if accepted {
				attempt.Status = 200
			}
			hook.applyAttempt(attempt, Delivery{Status: DeliveryPending}, now)
			recent := slices.DeleteFunc(slices.Clone(all), func(m made) bool { return !m.at.After(now.Add(-5 * time.Minute)) })
			failed := !slices.ContainsFunc(recent, func(m made) bool { return m.accepted })
			down = !accepted && (down || failed && len(recent) >= 10)
			if hook.isDown() != down || hook.FailingSince.IsZero() != accepted {
				t.Fatalf("after %+v the webhook is %+v, want it down: %v", all, hook, down)
			}
		}
	})
}
