package shop_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

func openStore(t *testing.T) shop.Store {
	t.Helper()
	store := openStoreAt(t, filepath.Join(t.TempDir(), "test.db"))
	t.Cleanup(func() { store.Close() })
	return store
}

func openStoreAt(t *testing.T, path string) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), path, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// A store keeps the environment with which it was created and cannot be opened with a different one.
func TestStoreKeepsItsEnvironment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, then, want shop.Environment // if want is empty, the second Open must fail
	}{
		{shop.Production, shop.Production, shop.Production},
		{shop.Staging, shop.Staging, shop.Staging},
		{shop.Production, shop.Staging, ""},
		{shop.Staging, shop.Production, ""},
		{"", "", shop.Production},
		{"", shop.Production, shop.Production},
		{shop.Staging, "", shop.Staging},
	} {
		store := openStore(t)
		if _, err := shop.Open(t.Context(), store, shop.Options{Environment: c.first}); err != nil {
			t.Fatal(err)
		}
		service, err := shop.Open(t.Context(), store, shop.Options{Environment: c.then})
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), string(c.first)) {
				t.Errorf("a %s store opened as %s: %v", c.first, c.then, err)
			}
			continue
		}
		if err != nil || service.Environment() != c.want {
			t.Errorf("%q then %q: %v", c.first, c.then, err)
		}
	}
}

// The clock in Options determines when a key was created and when it expires.
func TestKeysUseTheConfiguredClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 28, 23, 59, 59, 999_999_999, time.UTC)
	service, err := shop.Open(t.Context(), openStore(t), shop.Options{Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
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
