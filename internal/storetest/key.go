package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

var keyCases = []testCase{
	{"a key is found by its secret", func(t *testing.T, store shop.Store) {
		now := time.Now().UTC().Truncate(time.Microsecond)
		for _, key := range []shop.Key{
			{Name: "first", Scopes: []shop.Scope{shop.Admin}, Hint: "abcd", CreatedAt: now},
			{Name: "second", Scopes: []shop.Scope{shop.PetsRead, shop.PetsWrite}, Hint: "efgh", CreatedAt: now, ExpiresAt: now.Add(time.Hour)},
		} {
			hash := shop.HashSecret(key.Name)
			write(t, store, func(tx shop.WriteTx) (err error) {
				inserted, err := tx.InsertKey(key, hash)
				key.ID = inserted.ID
				if diff := cmp.Diff(key, inserted); diff != "" {
					t.Errorf("inserted (-want +got)\n%s", diff)
				}
				return err
			})
			read(t, store, func(tx shop.ReadTx) error {
				got, found, err := tx.KeyBySecret(hash)
				if diff := cmp.Diff(key, got); !found || diff != "" {
					t.Errorf("found %v (-want +got)\n%s", found, diff)
				}
				return err
			})
		}
	}},

	{"a secret opens nothing that it was not made for", func(t *testing.T, store shop.Store) {
		write(t, store, func(tx shop.WriteTx) error {
			_, err := tx.InsertKey(shop.Key{Name: "first", Scopes: []shop.Scope{shop.Admin}}, shop.HashSecret("right"))
			return err
		})
		read(t, store, func(tx shop.ReadTx) error {
			_, found, err := tx.KeyBySecret(shop.HashSecret("wrong"))
			if found {
				t.Error("a wrong secret found a key")
			}
			return err
		})
	}},

	{"a new store has no keys", func(t *testing.T, store shop.Store) {
		hasKeys := func() (has bool) {
			read(t, store, func(tx shop.ReadTx) (err error) {
				has, err = tx.HasKeys()
				return err
			})
			return has
		}
		if hasKeys() {
			t.Error("a new store has keys")
		}
		write(t, store, func(tx shop.WriteTx) error {
			_, err := tx.InsertKey(shop.Key{Name: "first", Scopes: []shop.Scope{shop.Admin}}, shop.HashSecret("secret"))
			return err
		})
		if !hasKeys() {
			t.Error("a store with a key has none")
		}
	}},
}
