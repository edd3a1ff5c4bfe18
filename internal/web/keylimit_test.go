package web

import (
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// One key cannot use up the whole limit. A key without running operations takes no memory.
func TestKeyLimitLeavesRoomForOtherKeys(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	principal := func() shop.Principal {
		return shoptest.Must(s.Authenticate(t.Context(), s.Key(t, shop.PetsRead).Secret))(t)
	}
	greedy, modest, third := principal(), principal(), principal()
	limit := NewKeyLimit("imports", 3, 2)
	var releases []func()
	acquire := func(p shop.Principal, want shop.Code) {
		t.Helper()
		release, err := limit.Acquire(p)
		if err == nil {
			releases = append(releases, release)
		}
		if code := shop.AsError(err).Code; err == nil && want != "" || err != nil && code != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	acquire(greedy, "")
	acquire(greedy, "")
	acquire(greedy, shop.RateLimited)
	acquire(modest, "")
	acquire(third, shop.Unavailable)
	releases[0]()
	releases[0]() // a second call has no effect
	acquire(third, "")
	acquire(modest, shop.Unavailable)
	for _, release := range releases {
		release()
	}
	if limit.running != 0 || len(limit.runningByKey) != 0 {
		t.Errorf("%d operations are counted for %v, want none", limit.running, limit.runningByKey)
	}
}
