package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

var sessionCases = []testCase{
	{name: "a session is found by its token until it is removed", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		session := shop.Session{ID: shop.HashSecret("one"), Secret: shop.HashSecret("secret"), Device: "Chrome ☎", CreatedAt: now,
			LastSeenAt: now.Add(time.Second), EndsAt: now.Add(time.Hour)}
		later := shop.Session{ID: shop.HashSecret("two"), Secret: shop.HashSecret("secret"), EndsAt: now.Add(2 * time.Hour)}
		write(t, store, func(tx shop.WriteTx) error {
			return errors.Join(tx.InsertSession(session), tx.InsertSession(later))
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

	{name: "sessions are listed by their last use", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		key := addKey(t, store, shop.Key{Name: "Anna", Scopes: []shop.Scope{shop.PetsRead}, CreatedAt: now}, "old", "new")
		other := addKey(t, store, shop.Key{Name: "Ben", Scopes: []shop.Scope{shop.PetsRead}, CreatedAt: now}, "other")
		var sessions []shop.Session // all sessions, the most recently used one first
		for i, secret := range []string{"new", "other", "gone", "old"} {
			sessions = append(sessions, shop.Session{ID: shop.HashSecret("token of " + secret), Secret: shop.HashSecret(secret), CreatedAt: now,
				LastSeenAt: now.Add(-time.Duration(i) * time.Minute), EndsAt: now.Add(time.Hour)})
		}
		sessions = append(sessions, shop.Session{ID: shop.HashSecret("of version 1.0"), Secret: shop.HashSecret("other"), EndsAt: now.Add(time.Hour)})
		write(t, store, func(tx shop.WriteTx) (err error) {
			for _, session := range slices.Backward(sessions) {
				err = errors.Join(err, tx.InsertSession(session))
			}
			return errors.Join(err, tx.InsertSession(shop.Session{ID: shop.HashSecret("ended"), Secret: shop.HashSecret("new"), EndsAt: now}),
				tx.SetSessionLastSeen(sessions[4].ID, now.Add(-time.Hour)), tx.SetSessionLastSeen(sessions[0].ID, now.Add(-time.Hour)),
				tx.SetSessionLastSeen(shop.HashSecret("unknown"), now))
		})
		sessions[4].LastSeenAt = now.Add(-time.Hour)
		for i, key := range []shop.Key{0: key, 1: other, 3: key, 4: other} {
			sessions[i].KeyID, sessions[i].KeyName = key.ID, key.Name
		}
		for _, c := range []struct {
			keyID *int64
			limit int
			want  []shop.Session
		}{
			{nil, 10, sessions}, {nil, 2, sessions[:2]}, {&key.ID, 10, []shop.Session{sessions[0], sessions[3]}},
			{&other.ID, 10, []shop.Session{sessions[1], sessions[4]}}, {new(int64), 10, sessions[2:3]},
		} {
			got := get(t, store, func(tx shop.ReadTx) ([]shop.Session, error) {
				return tx.Sessions(shop.SessionList{KeyID: c.keyID, Now: now, Limit: c.limit})
			})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%+v (-want +got)\n%s", c, diff)
			}
		}
	}},

	{name: "the oldest sessions of a key are removed", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		addKey(t, store, shop.Key{Name: "Anna", Scopes: []shop.Scope{shop.PetsRead}, CreatedAt: now}, "old", "new")
		addKey(t, store, shop.Key{Name: "Ben", Scopes: []shop.Scope{shop.PetsRead}, CreatedAt: now}, "other")
		// The configured key is not stored.
		secrets := []string{"old", "new", "old", "new", "configured", "configured", "configured", "other"}
		write(t, store, func(tx shop.WriteTx) (err error) {
			for i, secret := range secrets {
				session := shop.Session{ID: shop.HashSecret(fmt.Sprint(i)), Secret: shop.HashSecret(secret), EndsAt: now.Add(time.Hour)}
				if i > 0 {
					session.CreatedAt = now.Add(time.Duration(i) * time.Second)
				}
				err = errors.Join(err, tx.InsertSession(session))
			}
			return errors.Join(err, tx.TrimSessions(shop.HashSecret("new"), 2), tx.TrimSessions(shop.HashSecret("configured"), 2))
		})
		for i := range secrets {
			token, want := fmt.Sprint(i), i != 0 && i != 1 && i != 4
			read(t, store, func(tx shop.ReadTx) error {
				_, found, err := tx.Session(shop.HashSecret(token))
				if found != want {
					t.Errorf("session %s: found %v, want %v", token, found, want)
				}
				return err
			})
		}
	}},

	{name: "sessions and sign-in links end with their key", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		key := addKey(t, store, shop.Key{Name: "Anna", Scopes: []shop.Scope{shop.PetsRead}, CreatedAt: now}, "secret")
		addKey(t, store, shop.Key{Name: "Ben", Scopes: []shop.Scope{shop.PetsRead}, CreatedAt: now}, "other")
		write(t, store, func(tx shop.WriteTx) (err error) {
			for _, secret := range []string{"secret", "other"} {
				id, hash, ends := shop.HashSecret("token of "+secret), shop.HashSecret(secret), now.Add(time.Hour)
				err = errors.Join(err, tx.InsertSession(shop.Session{ID: id, Secret: hash, EndsAt: ends}),
					tx.PutSignInLink(shop.SignInLink{ID: id, Secret: hash, EndsAt: ends}))
			}
			return err
		})
		ends := func(secret string) (ends [2]time.Time) {
			read(t, store, func(tx shop.ReadTx) error {
				session, _, err := tx.Session(shop.HashSecret("token of " + secret))
				link, _, linkErr := tx.SignInLink(shop.HashSecret("token of " + secret))
				ends = [2]time.Time{session.EndsAt, link.EndsAt}
				return errors.Join(err, linkErr)
			})
			return ends
		}
		hour, minute := now.Add(time.Hour), now.Add(time.Minute)
		for _, c := range []struct {
			what string
			do   func(tx shop.WriteTx) error
			want [2]time.Time
		}{
			{"a long overlap", func(tx shop.WriteTx) error { return tx.ExpireSecrets(key.ID, now, now.Add(2*time.Hour)) }, [2]time.Time{hour, hour}},
			{"a short overlap", func(tx shop.WriteTx) error { return tx.ExpireSecrets(key.ID, now, minute) }, [2]time.Time{minute, minute}},
			{"the end", func(tx shop.WriteTx) error { return tx.DeleteKey(key) }, [2]time.Time{}},
		} {
			write(t, store, c.do)
			if got := ends("secret"); got != c.want {
				t.Errorf("after %s: the session and the link end at %v, want %v", c.what, got, c.want)
			}
		}
		if got := ends("other"); got != [2]time.Time{hour, hour} {
			t.Errorf("the session and the link of another key end at %v, want %v", got, hour)
		}
	}},
}
