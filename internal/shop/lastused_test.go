package shop

import (
	"testing"
	"time"
)

// Uses that could not be saved are requeued, unless a later use of the same key has been recorded in the
// meantime.
func TestUnsavedUsesAreRequeued(t *testing.T) {
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
		t.Errorf("requeued %v", again)
	}
	u.record(3, late)
	u.forget(3)
	if key := (Key{ID: 3}); len(u.takeUnsaved()) != 0 {
		t.Error("the use of a revoked key is saved")
	} else if u.apply(&key); !key.LastUsedAt.IsZero() {
		t.Error("the use of a revoked key is applied")
	}
}
