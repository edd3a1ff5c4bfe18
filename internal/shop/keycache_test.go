package shop

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestKeyring(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring := newKeyCache()
		hash := HashSecret("secret")
		var stored, known, broken = Credential{Key: Key{ID: 7}}, false, false
		asked := 0
		find := func() (Credential, bool, error) {
			return ring.find(hash, func() (Credential, bool, error) {
				asked++
				if broken {
					return Credential{}, false, errors.New("gone fishing")
				}
				return stored, known, nil
			})
		}
		want := func(what string, wantFound bool, wantAsked int) {
			t.Helper()
			_, found, err := find()
			if err != nil || found != wantFound || asked != wantAsked {
				t.Errorf("%s: found %v after %d look-ups (%v), want %v after %d", what, found, asked, err, wantFound, wantAsked)
			}
		}
		want("an unknown key", false, 1)
		known = true
		want("a key that was just made", true, 2)
		want("a key that was seen", true, 2)
		broken = true
		want("a key that was seen, while the store is away", true, 2)
		time.Sleep(time.Second)
		if _, _, err := find(); err == nil {
			t.Error("a key was trusted for a second without the store")
		}
		broken, known = false, false
		want("a key that was revoked a second ago", false, 4)
		if len(ring.entries) != 0 {
			t.Error("a revoked key is kept")
		}
	})
}
