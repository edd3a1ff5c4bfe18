package shop_test

import (
	"sync"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// The last key with the scope admin cannot be revoked, not even while keys of other scopes exist.
func TestLastAdminKeyCannotBeRevoked(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	boss, reader, deputy := s.Key(t, shop.Admin), s.Key(t, shop.PetsRead), s.Key(t, shop.PetsRead, shop.Admin)
	guest, err := s.CreateKey(t.Context(), shop.NewKey{Name: "guest", Scopes: []shop.Scope{shop.Admin}, ExpiresAt: s.Clock.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	revoke := func(key shop.IssuedKey, want shop.Code) {
		t.Helper()
		if err := s.RevokeKey(t.Context(), key.ID); want != "" {
			wantError(t, err, want)
		} else if err != nil {
			t.Error(err)
		}
	}
	revoke(deputy, "")
	revoke(boss, "")
	revoke(guest, shop.LastAdminKey)
	revoke(reader, "")
	revoke(guest, shop.LastAdminKey)
}

// If several clients revoke all admin keys at the same time, one admin key is left. This holds on both
// engines, because their transactions detect conflicts in different ways.
func TestConcurrentRevocationsLeaveAnAdminKey(t *testing.T) {
	t.Parallel()
	for name, postgres := range map[string]bool{"SQLite": false, "PostgreSQL": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shoptest.Open(t, shoptest.Options{Postgres: postgres})
			for range 10 {
				keys := []shop.IssuedKey{s.Key(t, shop.Admin), s.Key(t, shop.Admin), s.Key(t, shop.Admin), s.Key(t, shop.Admin)}
				var wg sync.WaitGroup
				for _, key := range keys {
					wg.Go(func() {
						if err := s.RevokeKey(t.Context(), key.ID); err != nil && shop.AsError(err).Code != shop.LastAdminKey {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				left, err := s.ListKeys(t.Context(), shop.PageRequest{Limit: 10})
				if err != nil || len(left.Items) != 1 {
					t.Fatalf("%d keys are left (%v), want 1", len(left.Items), err)
				}
			}
		})
	}
}
