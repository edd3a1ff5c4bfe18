package shop_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/sqlstore"
)

// A store keeps the environment with which it was created, production by default, and cannot be opened with a
// different one.
func TestStoreKeepsItsEnvironment(t *testing.T) {
	t.Parallel()
	other := map[shop.Environment]shop.Environment{shop.Production: shop.Staging, shop.Staging: shop.Production}
	for first, want := range map[shop.Environment]shop.Environment{"": shop.Production, shop.Production: shop.Production, shop.Staging: shop.Staging} {
		store, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		for _, then := range []shop.Environment{first, "", want} {
			if service, err := shop.Open(t.Context(), store, shop.Options{Environment: then}); err != nil || service.Environment() != want {
				t.Errorf("%q then %q: %v", first, then, err)
			}
		}
		if _, err := shop.Open(t.Context(), store, shop.Options{Environment: other[want]}); err == nil || !strings.Contains(err.Error(), string(want)) {
			t.Errorf("a %s store opened as %s: %v", want, other[want], err)
		}
	}
}

// The clock in Options determines when a key was created and when it expires.
func TestKeysUseTheConfiguredClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 28, 23, 59, 59, 999_999_999, time.UTC)
	service := shoptest.Open(t, shoptest.Options{Options: shop.Options{Now: func() time.Time { return at }}})
	key, err := service.CreateKey(t.Context(), shop.NewKey{Name: "old", Scopes: []shop.Scope{shop.Admin}, ExpiresAt: at.Add(time.Hour)})
	if err != nil || !key.CreatedAt.Equal(at.Truncate(time.Microsecond)) {
		t.Errorf("the key was created at %v, %v", key.CreatedAt, err)
	}
	if _, err := service.Authenticate(t.Context(), key.Secret); err != nil {
		t.Error(err)
	}
	at = at.Add(time.Hour)
	if _, err := service.Authenticate(t.Context(), key.Secret); shop.AsError(err).Code != shop.InvalidAPIKey {
		t.Errorf("an hour later: %v", err)
	}
}
