package storetest

import (
	"testing"
	"time"

	"animalstore/internal/shop"
)

var sessionCases = []testCase{
	{name: "a session is found by its token until it is removed", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		session := shop.Session{Secret: shop.HashSecret("secret"), EndsAt: now.Add(time.Hour)}
		later := shop.Session{Secret: shop.HashSecret("secret"), EndsAt: now.Add(2 * time.Hour)}
		write(t, store, func(tx shop.WriteTx) error {
			if err := tx.InsertSession(shop.HashSecret("one"), session); err != nil {
				return err
			}
			return tx.InsertSession(shop.HashSecret("two"), later)
		})
		want := func(token string, want *shop.Session) {
			t.Helper()
			wantFound(t, store, want, func(tx shop.ReadTx) (shop.Session, bool, error) { return tx.Session(shop.HashSecret(token)) })
		}
		remove := func(now time.Time) {
			t.Helper()
			write(t, store, func(tx shop.WriteTx) error {
				more, err := tx.RemoveSessions(now)
				if more {
					t.Error("RemoveSessions reports more")
				}
				return err
			})
		}
		want("one", &session)
		want("secret", nil)
		remove(now.Add(time.Hour - time.Microsecond))
		want("one", &session)
		remove(now.Add(time.Hour))
		want("one", nil)
		want("two", &later)
		for range 2 { // the second time, the session no longer exists
			write(t, store, func(tx shop.WriteTx) error { return tx.DeleteSession(shop.HashSecret("two")) })
			want("two", nil)
		}
	}},
}
