package shop

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A known key is cached for less than a second. An unknown key is never cached.
func TestKeyCacheForgetsWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache := newKeyCache()
		hash := HashSecret("secret")
		var stored, known, broken = Credential{Key: Key{ID: 7}}, false, false
		lookUps := 0
		find := func() (Credential, bool, error) {
			return cache.find(hash, func() (Credential, bool, error) {
				lookUps++
				if broken {
					return Credential{}, false, errors.New("unavailable")
				}
				return stored, known, nil
			})
		}
		want := func(what string, wantFound bool, wantLookUps int) {
			t.Helper()
			_, found, err := find()
			if err != nil || found != wantFound || lookUps != wantLookUps {
				t.Errorf("%s: found %v after %d look-ups (%v), want %v after %d", what, found, lookUps, err, wantFound, wantLookUps)
			}
		}
		want("an unknown key", false, 1)
		known = true
		want("a new key", true, 2)
		want("a cached key", true, 2)
		broken = true
		want("a cached key, while the store is unavailable", true, 2)
		time.Sleep(time.Second)
		if _, _, err := find(); err == nil {
			t.Error("a cached key was used for a second")
		}
		broken, known = false, false
		want("a key revoked a second ago", false, 4)
		if len(cache.entries) != 0 {
			t.Error("a revoked key is still cached")
		}
	})
}

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
