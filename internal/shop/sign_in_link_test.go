package shop_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// wantInvalidLink checks that a link neither names its key nor signs anybody in.
func wantInvalidLink(t *testing.T, s *shop.Service, how, link string) {
	t.Helper()
	if p, err := s.SignInLinkPrincipal(t.Context(), link); err == nil || shop.AsError(err).Code != shop.InvalidAPIKey {
		t.Errorf("%s: the link is for %q (%v), want invalid_api_key", how, p.Name(), err)
	}
	if in, err := s.SignInWithLink(t.Context(), link, shop.NewSession{}); err == nil || shop.AsError(err).Code != shop.InvalidAPIKey {
		t.Errorf("%s: the link signed in %q (%v), want invalid_api_key", how, in.Principal.Actor(), err)
	}
}

// A link can be used to sign in once, on any node. Reading the name of its key does not use it up.
func TestSignInLinkWorksOnce(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	ctx := t.Context()
	key := s.Key(t, shop.PetsRead)
	link := must(s.CreateSignInLink(ctx, key.ID))(t)
	if strings.Contains(link.Token, key.Secret) || link.KeyName != key.Name || link.EndsAt.Sub(s.Now()) > shop.SignInLinkLifetime {
		t.Errorf("got the link %+v", link)
	}
	other := must(s.Node(ctx, shop.Options{}))(t)
	for range 3 {
		equal(t, "the key of the link", must(other.SignInLinkPrincipal(ctx, link.Token))(t).Name(), key.Name)
	}
	in := must(other.SignInWithLink(ctx, link.Token, shop.NewSession{}))(t)
	equal(t, "who signed in", in.Principal.Actor(), "keys/1")
	equal(t, "the owner of the session", must(s.SessionPrincipal(ctx, in.Token))(t).Actor(), "keys/1")
	wantInvalidLink(t, s.Service, "after its use", link.Token)
	wantInvalidLink(t, other, "after its use", link.Token)
}

func TestConcurrentUsesOfASignInLinkOpenOneSession(t *testing.T) {
	t.Parallel()
	for name, postgres := range map[string]bool{"sqlite": false, "postgres": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shoptest.Open(t, shoptest.Options{Postgres: postgres})
			nodes := []*shop.Service{s.Service, must(s.Node(t.Context(), shop.Options{}))(t)}
			link := must(s.CreateSignInLink(t.Context(), s.Key(t, shop.PetsRead).ID))(t)
			var using sync.WaitGroup
			var succeeded atomic.Int64
			for i := range 20 {
				using.Go(func() {
					_, err := nodes[i%2].SignInWithLink(t.Context(), link.Token, shop.NewSession{})
					if err == nil {
						succeeded.Add(1)
					} else if shop.AsError(err).Code != shop.InvalidAPIKey {
						t.Error(err)
					}
				})
			}
			using.Wait()
			equal(t, "the sign-ins", succeeded.Load(), 1)
			admin := must(s.Authenticate(t.Context(), shoptest.AdminKey))(t)
			equal(t, "the sessions", len(must(s.ListSessions(t.Context(), admin))(t)), 1)
		})
	}
}

func TestSignInLinkExpires(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		ctx := t.Context()
		key := s.Key(t, shop.PetsRead)
		create := func() string { return must(s.CreateSignInLink(ctx, key.ID))(t).Token }
		link := create()
		time.Sleep(shop.SignInLinkLifetime - time.Microsecond)
		equal(t, "the key of the link", must(s.SignInLinkPrincipal(ctx, link))(t).Name(), key.Name)
		time.Sleep(time.Microsecond)
		wantInvalidLink(t, s.Service, "after ten minutes", link)

		link = create()
		newer := create()
		wantInvalidLink(t, s.Service, "after a newer link for the same key", link)
		must(s.SignInLinkPrincipal(ctx, newer))(t)

		key = must(s.RotateKey(ctx, shop.Caller{}, key.ID, 0))(t)
		wantInvalidLink(t, s.Service, "after a rotation without overlap", newer)
		link = create()
		check(t, s.RevokeKey(ctx, shop.Caller{}, key.ID))
		wantInvalidLink(t, s.Service, "after the end of its key", link)
		for _, text := range []string{"", "asl_", "asl_" + strings.Repeat("A", 26), key.Secret} {
			wantInvalidLink(t, s.Service, "made up", text)
		}
		_, err := s.CreateSignInLink(ctx, key.ID)
		wantCode(t, err, shop.NotFound)

		short := must(s.CreateKey(ctx, shop.Caller{}, shop.NewKey{Name: "short", Scopes: []shop.Scope{shop.PetsRead}, ExpiresAt: s.Now().Add(time.Minute)}))(t)
		link = must(s.CreateSignInLink(ctx, short.ID))(t).Token
		time.Sleep(time.Minute)
		wantInvalidLink(t, s.Service, "after its key has expired", link)
		_, err = s.CreateSignInLink(ctx, short.ID)
		wantCode(t, err, shop.ValidationFailed)
	})
}

// A sign-in link that is created in a session belongs to the secret of that session. When this secret expires after a
// rotation, a session that began with the link ends, and no further link can be created.
func TestOwnSignInLinkEndsWithTheSecretOfTheSession(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		ctx := t.Context()
		key := s.Key(t, shop.PetsRead)
		session := must(s.SignIn(ctx, key.Secret, shop.NewSession{}))(t).Token
		must(s.RotateKey(ctx, shop.Caller{}, key.ID, time.Hour))(t)
		link := must(s.CreateOwnSignInLink(ctx, session))(t)
		token := must(s.SignInWithLink(ctx, link.Token, shop.NewSession{Keep: true}))(t).Token
		must(s.SessionPrincipal(ctx, token))(t)
		time.Sleep(time.Hour)
		wantNoSession(t, s.Service, "after the overlap of the rotation", token)
		_, err := s.CreateOwnSignInLink(ctx, session)
		wantCode(t, err, shop.InvalidAPIKey)

		// The configured key is stored nowhere, but its owner can get a link as well.
		session = must(s.SignIn(ctx, shoptest.AdminKey, shop.NewSession{}))(t).Token
		in := must(s.SignInWithLink(ctx, must(s.CreateOwnSignInLink(ctx, session))(t).Token, shop.NewSession{}))(t)
		equal(t, "who signed in", in.Principal.Actor(), "configured")
	})
}

func TestSignInTokensAreRedacted(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	link := must(s.CreateSignInLink(t.Context(), s.Key(t, shop.PetsRead).ID))(t)
	equal(t, "the text", s.Redact("GET /a?t="+link.Token+"&b"), "GET /a?t=asl_REDACTED&b")
}
