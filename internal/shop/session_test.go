package shop_test

import (
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A session ends when its owner signs out, when its time is over, and when its key is revoked.
func TestSessionEnds(t *testing.T) {
	for how, end := range map[string]func(t *testing.T, s *shoptest.Shop, key shop.IssuedKey, token string) error{
		"with the sign-out": func(t *testing.T, s *shoptest.Shop, _ shop.IssuedKey, token string) error {
			return s.SignOut(t.Context(), token)
		},
		"with its lifetime": func(t *testing.T, _ *shoptest.Shop, _ shop.IssuedKey, _ string) error {
			time.Sleep(shop.SessionLifetime)
			return nil
		},
		"with its key": func(t *testing.T, s *shoptest.Shop, key shop.IssuedKey, _ string) error {
			defer time.Sleep(time.Second) // a revoked key may work for less than a second
			return s.RevokeKey(t.Context(), key.ID)
		},
	} {
		t.Run(how, func(t *testing.T) {
			inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
				key := s.Key(t, shop.PetsRead)
				token, err := s.SignIn(t.Context(), key.Secret)
				if err != nil {
					t.Fatal(err)
				}
				if p, err := s.SessionPrincipal(t.Context(), token); err != nil || p.Actor() != "keys/1" {
					t.Errorf("the session belongs to %s, %v; want keys/1", p.Actor(), err)
				}
				if err := end(t, s, key, token); err != nil {
					t.Fatal(err)
				}
				if _, err := s.SessionPrincipal(t.Context(), token); err == nil || shop.AsError(err).Code != shop.InvalidAPIKey {
					t.Errorf("after its end: %v, want invalid_api_key", err)
				}
			})
		})
	}
}
