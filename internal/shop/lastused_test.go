package shop

import (
	"testing"
	"time"
)

// What could not be saved comes back, unless a later use has come meanwhile.
func TestUsesThatCouldNotBeSaved(t *testing.T) {
	t.Parallel()
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	u := newLastUsed()
	u.record(1, early)
	u.record(2, early)
	failed := u.takeUnsaved()
	u.record(1, late)
	u.requeue(failed)
	again := u.takeUnsaved()
	if !again[1].Equal(late) || !again[2].Equal(early) {
		t.Errorf("kept %v", again)
	}
	u.record(3, late)
	u.forget(3)
	if key := (Key{ID: 3}); len(u.takeUnsaved()) != 0 {
		t.Error("a key that is no more is kept")
	} else if u.apply(&key); !key.LastUsedAt.IsZero() {
		t.Error("a key that is no more was used")
	}
}
