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

// The time for which a key is cached includes the look-up, because the key may be revoked during a slow one.
func TestKeyIsCachedFromTheStartOfItsLookUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache := newKeyCache()
		find := func(lookUp func() (Credential, bool, error)) bool {
			_, found, err := cache.find(HashSecret("secret"), lookUp)
			if err != nil {
				t.Error(err)
			}
			return found
		}
		find(func() (Credential, bool, error) {
			time.Sleep(keyFreshness) // the key is revoked meanwhile
			return Credential{}, true, nil
		})
		if find(func() (Credential, bool, error) { return Credential{}, false, nil }) {
			t.Errorf("a key still works although it may have been revoked %s ago", keyFreshness)
		}
	})
}
