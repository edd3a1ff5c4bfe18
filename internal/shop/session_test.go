package shop_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// wantNoSession checks that a token no longer belongs to a session.
func wantNoSession(t *testing.T, s *shop.Service, how, token string) {
	t.Helper()
	if p, err := s.SessionPrincipal(t.Context(), token); err == nil || shop.AsError(err).Code != shop.InvalidAPIKey {
		t.Errorf("%s: got %q and %v, want invalid_api_key", how, p.Actor(), err)
	}
}

// A session ends when its owner signs out, when its lifetime is over, when the same browser signs in again, when its
// secret expires, and when its key is revoked.
func TestSessionEnds(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		key := s.Key(t, shop.PetsRead)
		wantEnd := func(how string, keep bool, end func(token string) error) {
			t.Helper()
			token := must(s.SignIn(t.Context(), key.Secret, shop.NewSession{Keep: keep}))(t).Token
			equal(t, "the owner of the session", must(s.SessionPrincipal(t.Context(), token))(t).Actor(), "keys/1")
			check(t, end(token))
			wantNoSession(t, s.Service, how, token)
		}
		wantEnd("after the sign-out", false, func(token string) error { return s.SignOut(t.Context(), token) })
		wantEnd("after its lifetime", false, func(string) error { time.Sleep(shop.SessionLifetime); return nil })
		wantEnd("after 30 days", true, func(token string) error {
			time.Sleep(30*24*time.Hour - time.Microsecond)
			must(s.SessionPrincipal(t.Context(), token))(t)
			time.Sleep(time.Microsecond)
			return nil
		})
		wantEnd("after a sign-in in the same browser", false, func(token string) error {
			_, err := s.SignIn(t.Context(), key.Secret, shop.NewSession{Replaces: token})
			return err
		})
		wantEnd("after a rotation without overlap", true, func(string) (err error) {
			key, err = s.RotateKey(t.Context(), shop.Caller{}, key.ID, 0)
			return err
		})
		wantEnd("after the overlap of a rotation", true, func(token string) (err error) {
			key, err = s.RotateKey(t.Context(), shop.Caller{}, key.ID, time.Hour)
			time.Sleep(time.Hour - time.Microsecond)
			must(s.SessionPrincipal(t.Context(), token))(t)
			time.Sleep(time.Microsecond)
			return err
		})
		// The key itself may be accepted for another moment, but its sessions are not.
		wantEnd("after the end of its key", true, func(string) error { return s.RevokeKey(t.Context(), shop.Caller{}, key.ID) })
	})
}

// If the store still contains a session of a revoked key, the session ends within a second, when the cached key is no
// longer fresh.
func TestSessionOfARemovedSecretEnds(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		key := s.Key(t, shop.PetsRead)
		token := must(s.SignIn(t.Context(), key.Secret, shop.NewSession{}))(t).Token
		must(s.SessionPrincipal(t.Context(), token))(t)
		check(t, s.RevokeKey(t.Context(), shop.Caller{}, key.ID))
		// Version 1.0 left the sessions of a revoked key in the store.
		check(t, s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
			return tx.InsertSession(shop.Session{ID: shop.HashSecret(token), Secret: shop.HashSecret(key.Secret), EndsAt: s.Now().Add(time.Hour)})
		}))
		time.Sleep(time.Second)
		wantNoSession(t, s.Service, "a second after the end of its key", token)
	})
}

// devices returns the key names and devices of all sessions that a principal sees.
func devices(t *testing.T, s *shop.Service, p shop.Principal) string {
	t.Helper()
	var found []string
	for _, session := range must(s.ListSessions(t.Context(), p))(t) {
		found = append(found, session.KeyName+" "+session.Device)
	}
	return strings.Join(found, ", ")
}

func TestSessionsAreListedAndEndedByTheirOwnerOrAnAdmin(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		ctx := t.Context()
		newKey := func(name string, scopes ...shop.Scope) string {
			return must(s.CreateKey(ctx, shop.Caller{}, shop.NewKey{Name: name, Scopes: scopes}))(t).Secret
		}
		tokens := map[string]string{}
		for _, c := range []struct{ secret, device string }{
			{newKey("Anna", shop.PetsRead), "phone"}, {newKey("Ben", shop.PetsRead), "till"}, {shoptest.AdminKey, "desk"},
		} {
			tokens[c.device] = must(s.SignIn(ctx, c.secret, shop.NewSession{Device: c.device}))(t).Token
			time.Sleep(time.Second)
		}
		principal := func(device string) shop.Principal { return must(s.SessionPrincipal(ctx, tokens[device]))(t) }
		idOf := func(device string) string {
			sessions := must(s.ListSessions(ctx, principal("desk")))(t)
			i := slices.IndexFunc(sessions, func(s shop.Session) bool { return s.HasToken(tokens[device]) })
			equal(t, "the listed device", sessions[i].Device, device)
			return sessions[i].IDText()
		}
		equal(t, "what Anna sees", devices(t, s.Service, principal("phone")), "Anna phone")
		const all = "configured desk, Ben till, Anna phone"
		equal(t, "what the admin sees", devices(t, s.Service, principal("desk")), all)
		till, phone := idOf("till"), idOf("phone")
		for _, id := range []string{till, "", "zz", phone + "00", strings.Repeat("0", 64)} {
			_, err := s.EndSession(ctx, principal("phone"), id)
			wantCode(t, err, shop.NotFound)
		}
		equal(t, "what is left", devices(t, s.Service, principal("desk")), all)
		must(s.EndSession(ctx, principal("phone"), phone))(t)
		wantNoSession(t, s.Service, "after Anna ended it", tokens["phone"])
		equal(t, "the ended device", must(s.EndSession(ctx, principal("desk"), till))(t).Device, "till")
		wantNoSession(t, s.Service, "after the admin ended it", tokens["till"])
		equal(t, "what is left", devices(t, s.Service, principal("desk")), "configured desk")
	})
}

// The last use of a session is saved within a minute. Sessions are listed with the most recently used first.
func TestLastUseOfASessionIsSaved(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		ctx := t.Context()
		first := must(s.SignIn(ctx, shoptest.AdminKey, shop.NewSession{Device: "first"}))(t).Token
		time.Sleep(time.Minute)
		must(s.SignIn(ctx, shoptest.AdminKey, shop.NewSession{Device: "second"}))(t)
		time.Sleep(time.Minute)
		admin := must(s.SessionPrincipal(ctx, first))(t)
		want := s.Now().UTC().Truncate(time.Microsecond)
		equal(t, "the last use on this node", must(s.ListSessions(ctx, admin))(t)[0].LastSeenAt, want)
		check(t, s.SaveLastUses(ctx))
		other := must(s.Node(ctx, shop.Options{}))(t)
		got := must(other.ListSessions(ctx, admin))(t)[0]
		equal(t, "the session", got.Device, "first")
		equal(t, "its last use", got.LastSeenAt, want)
		equal(t, "its creation", got.CreatedAt, want.Add(-2*time.Minute))
	})
}

// A key can have only a limited number of sessions. A further sign-in ends the oldest one, even if that session began
// with the secret that a rotation has replaced.
func TestKeyHasALimitedNumberOfSessions(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		key := s.Key(t, shop.PetsRead)
		rotated := must(s.RotateKey(t.Context(), shop.Caller{}, key.ID, time.Hour))(t)
		for _, secrets := range [][2]string{{shoptest.AdminKey, shoptest.AdminKey}, {key.Secret, rotated.Secret}} {
			var tokens []string
			for i := range 52 {
				tokens = append(tokens, must(s.SignIn(t.Context(), secrets[i/26], shop.NewSession{}))(t).Token)
				time.Sleep(time.Millisecond)
			}
			for _, token := range tokens[:2] {
				wantNoSession(t, s.Service, "after fifty others", token)
			}
			must(s.SessionPrincipal(t.Context(), tokens[2]))(t)
		}
		s.Clock.Forward(-time.Hour)
		in := must(s.SignIn(t.Context(), shoptest.AdminKey, shop.NewSession{}))(t)
		must(s.SessionPrincipal(t.Context(), in.Token))(t)
	})
}
