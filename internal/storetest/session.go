package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

var sessionCases = []testCase{
	{"a session is found by its token until it is removed", func(t *testing.T, store shop.Store) {
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
			read(t, store, func(tx shop.ReadTx) error {
				got, found, err := tx.Session(shop.HashSecret(token))
				if found != (want != nil) {
					t.Errorf("%s: found %v", token, found)
				} else if diff := cmp.Diff(want, &got); found && diff != "" {
					t.Errorf("%s (-want +got)\n%s", token, diff)
				}
				return err
			})
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
