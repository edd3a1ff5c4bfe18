package shop_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/sqlstore"
)

// A key that is revoked on another node is refused within a second of its revocation, even if this node was in the
// middle of a slow read of the key.
func TestKeyRevokedDuringASlowLookUpIsRefusedWithinASecond(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		slow := hook(s.Store)
		node := must(shop.Open(t.Context(), slow, shop.Options{}))(t)
		key := s.Key(t, shop.PetsRead)
		slow.afterRead = func() { time.Sleep(900 * time.Millisecond) }
		read := make(chan error)
		go func() {
			_, err := node.Authenticate(t.Context(), key.Secret)
			read <- err
		}()
		synctest.Wait() // the store has read the key, but has not returned it to the node yet
		check(t, s.RevokeKey(t.Context(), shop.Caller{}, key.ID))
		revoked := time.Now()
		if err := <-read; err != nil {
			t.Fatalf("a key that was read before its revocation: %v", err)
		}
		slow.afterRead = func() {}
		time.Sleep(time.Second - time.Since(revoked))
		_, err := node.Authenticate(t.Context(), key.Secret)
		wantCode(t, err, shop.InvalidAPIKey)
	})
}

// The last key with the admin scope cannot be revoked, not even while keys of other scopes exist.
func TestLastAdminKeyCannotBeRevoked(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	boss, reader, deputy := s.Key(t, shop.Admin), s.Key(t, shop.PetsRead), s.Key(t, shop.PetsRead, shop.Admin)
	guest := must(s.CreateKey(t.Context(), shop.Caller{}, shop.NewKey{Name: "guest", Scopes: boss.Scopes, ExpiresAt: s.Clock.Now().Add(day)}))(t)
	for _, c := range []struct {
		key  shop.IssuedKey
		want shop.Code
	}{{deputy, ""}, {boss, ""}, {guest, shop.LastAdminKey}, {reader, ""}, {guest, shop.LastAdminKey}} {
		wantCode(t, s.RevokeKey(t.Context(), shop.Caller{}, c.key.ID), c.want)
	}
}

// If several clients revoke all admin keys at the same time, one admin key is left.
func TestConcurrentRevocationsLeaveAnAdminKey(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, _ []*shop.Service) {
		for range 10 {
			keys := []shop.IssuedKey{s.Key(t, shop.Admin), s.Key(t, shop.Admin), s.Key(t, shop.Admin), s.Key(t, shop.Admin)}
			atOnce(len(keys), func(i int) {
				if err := s.RevokeKey(t.Context(), shop.Caller{}, keys[i].ID); err != nil && shop.AsError(err).Code != shop.LastAdminKey {
					t.Error(err)
				}
			})
			equal(t, "keys that are left", len(must(s.ListKeys(t.Context(), shop.PageRequest{Limit: 10}))(t).Items), 1)
		}
	})
}

// The clock in Options determines the creation time of a key and whether the key has expired.
func TestKeysUseTheConfiguredClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 28, 23, 59, 59, 999_999_999, time.UTC)
	s := shoptest.Open(t, shoptest.Options{Options: shop.Options{Now: func() time.Time { return at }}})
	old := shop.NewKey{Name: "old", Scopes: []shop.Scope{shop.Admin}, ExpiresAt: at.Add(time.Hour)}
	key := must(s.CreateKey(t.Context(), shop.Caller{}, old))(t)
	equal(t, "the creation", key.CreatedAt, at.Truncate(time.Microsecond))
	must(s.Authenticate(t.Context(), key.Secret))(t)
	at = at.Add(time.Hour)
	_, err := s.Authenticate(t.Context(), key.Secret)
	wantCode(t, err, shop.InvalidAPIKey)
}

// A store keeps the environment with which it was created, production by default, and cannot be opened with a
// different one.
func TestStoreKeepsItsEnvironment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, want, other shop.Environment }{
		{"", shop.Production, shop.Staging}, {shop.Production, shop.Production, shop.Staging},
		{shop.Staging, shop.Staging, shop.Production},
	} {
		store := must(sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlstore.Options{}))(t)
		defer store.Close()
		for _, then := range []shop.Environment{c.first, "", c.want} {
			service := must(shop.Open(t.Context(), store, shop.Options{Environment: then}))(t)
			equal(t, "the environment", service.Environment(), c.want)
		}
		_, err := shop.Open(t.Context(), store, shop.Options{Environment: c.other})
		if err == nil || !strings.Contains(err.Error(), string(c.want)) {
			t.Errorf("a %s store opened as %s: %v", c.want, c.other, err)
		}
	}
}
