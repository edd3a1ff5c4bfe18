package shop

import (
	"testing"
	"time"
)

// What could not be saved comes back, unless a later use has come meanwhile.
func TestUsesThatCouldNotBeSaved(t *testing.T) {
	t.Parallel()
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	u := newUses()
	u.note(1, early)
	u.note(2, early)
	failed := u.takeUnsaved()
	u.note(1, late)
	u.giveBack(failed)
	again := u.takeUnsaved()
	if !again[1].Equal(late) || !again[2].Equal(early) {
		t.Errorf("kept %v", again)
	}
	u.note(3, late)
	u.forget(3)
	if key := (Key{ID: 3}); len(u.takeUnsaved()) != 0 {
		t.Error("a key that is no more is kept")
	} else if u.freshen(&key); !key.LastUsedAt.IsZero() {
		t.Error("a key that is no more was used")
	}
}
