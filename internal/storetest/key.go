package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

// addKey inserts a key with the given secrets and returns it with its id.
func addKey(t *testing.T, store shop.Store, key shop.Key, secrets ...string) shop.Key {
	t.Helper()
	var added shop.Key
	write(t, store, func(tx shop.WriteTx) (err error) {
		if added, err = tx.InsertKey(key); err != nil {
			return err
		}
		for _, secret := range secrets {
			if err := tx.InsertSecret(added.ID, shop.HashSecret(secret)); err != nil {
				return err
			}
		}
		return nil
	})
	return added
}

// wantCredential checks which credential belongs to a secret. If want is nil, there must be none.
func wantCredential(t *testing.T, store shop.Store, secret string, want *shop.Credential) {
	t.Helper()
	wantFound(t, store, want, func(tx shop.ReadTx) (shop.Credential, bool, error) { return tx.Credential(shop.HashSecret(secret)) })
}

// utcNow returns the current time with the precision that stores keep.
func utcNow() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

var keyCases = []testCase{
	{name: "a key is stored", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		for i, key := range []shop.Key{
			{Name: "first", Scopes: []shop.Scope{shop.Admin}, Hint: "abcd", CreatedAt: now},
			{Name: "sécond", Scopes: []shop.Scope{shop.PetsRead, shop.PetsWrite}, Hint: "efgh", CreatedAt: now, ExpiresAt: now.Add(time.Hour)},
		} {
			secret := fmt.Sprint("secret", i)
			added := addKey(t, store, key, secret)
			key.ID = added.ID
			if diff := cmp.Diff(key, added); diff != "" {
				t.Errorf("added (-want +got)\n%s", diff)
			}
			wantCredential(t, store, secret, &shop.Credential{Key: key})
			wantFound(t, store, &key, func(tx shop.ReadTx) (shop.Key, bool, error) { return tx.Key(key.ID) })
		}
		wantCredential(t, store, "another", nil)
	}},

	{name: "keys are listed newest first", run: func(t *testing.T, store shop.Store) {
		var want []shop.Key
		for i := range 5 {
			key := shop.Key{Name: fmt.Sprint(i), Scopes: []shop.Scope{shop.Admin}, CreatedAt: utcNow()}
			want = append([]shop.Key{addKey(t, store, key)}, want...)
		}
		read(t, store, func(tx shop.ReadTx) error {
			for _, c := range []struct {
				list shop.PageRequest
				want []shop.Key
			}{
				{shop.PageRequest{Limit: 9}, want},
				{shop.PageRequest{Limit: 2}, want[:2]},
				{shop.PageRequest{Limit: 2, After: &want[1].ID}, want[2:4]},
				{shop.PageRequest{Limit: 9, After: &want[4].ID}, []shop.Key{}},
			} {
				got, err := tx.Keys(c.list)
				if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
					t.Errorf("%+v: %v (-want +got)\n%s", c.list, err, diff)
				}
			}
			return nil
		})
	}},

	{name: "the secrets of a key expire, never later than before", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		key := addKey(t, store, shop.Key{Name: "rotated", Scopes: []shop.Scope{shop.Admin}, CreatedAt: now}, "one")
		other := addKey(t, store, shop.Key{Name: "other", Scopes: []shop.Scope{shop.Admin}, CreatedAt: now}, "other")
		expire := func(at time.Time, overlap time.Duration) {
			write(t, store, func(tx shop.WriteTx) error { return tx.ExpireSecrets(key.ID, at, at.Add(overlap)) })
		}
		expire(now, time.Hour)
		write(t, store, func(tx shop.WriteTx) error { return tx.InsertSecret(key.ID, shop.HashSecret("two")) })
		wantCredential(t, store, "one", &shop.Credential{Key: key, Until: now.Add(time.Hour)})
		wantCredential(t, store, "two", &shop.Credential{Key: key})
		expire(now, 2*time.Hour)
		wantCredential(t, store, "one", &shop.Credential{Key: key, Until: now.Add(time.Hour)})
		wantCredential(t, store, "two", &shop.Credential{Key: key, Until: now.Add(2 * time.Hour)})
		expire(now.Add(90*time.Minute), 0)
		wantCredential(t, store, "one", nil)
		wantCredential(t, store, "two", &shop.Credential{Key: key, Until: now.Add(90 * time.Minute)})
		wantCredential(t, store, "other", &shop.Credential{Key: other})
	}},

	{name: "a key's hint and last use change", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		key := addKey(t, store, shop.Key{Name: "used", Scopes: []shop.Scope{shop.Admin}, Hint: "aaaa", CreatedAt: now}, "secret")
		write(t, store, func(tx shop.WriteTx) error {
			// Only the latest of these times is kept.
			for _, at := range []time.Time{now.Add(time.Minute), now.Add(time.Hour), now} {
				if err := tx.SetKeyLastUsed(key.ID, at); err != nil {
					return err
				}
			}
			// A key that does not exist must not cause an error.
			if err := tx.SetKeyLastUsed(key.ID+1, now); err != nil {
				return err
			}
			return tx.SetHint(key, "bbbb")
		})
		key.Hint, key.LastUsedAt = "bbbb", now.Add(time.Hour)
		wantCredential(t, store, "secret", &shop.Credential{Key: key})
	}},

	{name: "a deleted key loses its secrets, and its id is never reused", run: func(t *testing.T, store shop.Store) {
		addKey(t, store, shop.Key{Name: "first", Scopes: []shop.Scope{shop.Admin}}, "first")
		last := addKey(t, store, shop.Key{Name: "last", Scopes: []shop.Scope{shop.Admin}}, "last", "more")
		write(t, store, func(tx shop.WriteTx) error { return tx.DeleteKey(last) })
		wantCredential(t, store, "last", nil)
		wantCredential(t, store, "more", nil)
		read(t, store, func(tx shop.ReadTx) error {
			keys, err := tx.Keys(shop.PageRequest{Limit: 9})
			if len(keys) != 1 || keys[0].Name != "first" {
				t.Errorf("found %v, want only the first key", keys)
			}
			return err
		})
		if next := addKey(t, store, shop.Key{Name: "next", Scopes: []shop.Scope{shop.Admin}}); next.ID <= last.ID {
			t.Errorf("the id %d follows %d", next.ID, last.ID)
		}
	}},

	{name: "admin keys are counted until they expire", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		for i, c := range []struct {
			key  shop.Key
			want int
		}{
			{shop.Key{Scopes: []shop.Scope{shop.PetsRead}}, 0},
			{shop.Key{Scopes: []shop.Scope{shop.Admin}}, 1},
			{shop.Key{Scopes: []shop.Scope{shop.PetsRead, shop.Admin}, ExpiresAt: now.Add(time.Second)}, 2},
			{shop.Key{Scopes: []shop.Scope{shop.Admin}, ExpiresAt: now}, 2},
			{shop.Key{Scopes: []shop.Scope{shop.Admin}, ExpiresAt: now.Add(-time.Hour)}, 2},
		} {
			c.key.Name, c.key.CreatedAt = fmt.Sprint(i), now
			addKey(t, store, c.key)
			if n := get(t, store, func(tx shop.ReadTx) (int, error) { return tx.CountAdmins(now) }); n != c.want {
				t.Errorf("after key %d there are %d admin keys, want %d", i, n, c.want)
			}
		}
	}},
}
