package storetest

import (
	"testing"
	"time"

	"animalstore/internal/shop"
)

var signInLinkCases = []testCase{
	{name: "a sign-in link is taken once", run: func(t *testing.T, store shop.Store) {
		link := shop.SignInLink{ID: shop.HashSecret("token"), Secret: shop.HashSecret("secret"), EndsAt: utcNow()}
		put(t, store, link)
		wantLink(t, store, "token", &link)
		wantLink(t, store, "secret", nil)
		for _, want := range []bool{true, false} {
			write(t, store, func(tx shop.WriteTx) error {
				got, found, err := tx.TakeSignInLink(link.ID)
				if found != want || found && got != link {
					t.Errorf("took %v: %+v, want %v: %+v", found, got, want, link)
				}
				return err
			})
		}
		wantLink(t, store, "token", nil)
	}},

	{name: "a sign-in link replaces that of the same secret", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		other := shop.SignInLink{ID: shop.HashSecret("other"), Secret: shop.HashSecret("b"), EndsAt: now}
		put(t, store, other)
		put(t, store, shop.SignInLink{ID: shop.HashSecret("old"), Secret: shop.HashSecret("a"), EndsAt: now})
		newer := shop.SignInLink{ID: shop.HashSecret("new"), Secret: shop.HashSecret("a"), EndsAt: now.Add(time.Minute)}
		put(t, store, newer)
		wantLink(t, store, "old", nil)
		wantLink(t, store, "new", &newer)
		wantLink(t, store, "other", &other)
		write(t, store, func(tx shop.WriteTx) error { return tx.RemoveSignInLinks(now) })
		wantLink(t, store, "other", nil)
		wantLink(t, store, "new", &newer)
	}},

	{name: "the current secret of a key is the one without an end", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		key := addKey(t, store, shop.Key{Name: "k", Scopes: []shop.Scope{shop.Admin}, CreatedAt: now}, "old")
		write(t, store, func(tx shop.WriteTx) error {
			if err := tx.ExpireSecrets(key.ID, now, now.Add(time.Hour)); err != nil {
				return err
			}
			return tx.InsertSecret(key.ID, shop.HashSecret("new"))
		})
		if got := get(t, store, func(tx shop.ReadTx) (shop.SecretHash, error) { return tx.CurrentSecret(key.ID) }); got != shop.HashSecret("new") {
			t.Error("the current secret is not the new one")
		}
	}},
}

func put(t *testing.T, store shop.Store, link shop.SignInLink) {
	t.Helper()
	write(t, store, func(tx shop.WriteTx) error { return tx.PutSignInLink(link) })
}

// wantLink checks which link belongs to a token. If want is nil, there must be none.
func wantLink(t *testing.T, store shop.Store, token string, want *shop.SignInLink) {
	t.Helper()
	wantFound(t, store, want, func(tx shop.ReadTx) (shop.SignInLink, bool, error) { return tx.SignInLink(shop.HashSecret(token)) })
}
