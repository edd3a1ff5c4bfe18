package client_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"animalstore/client"
)

func TestKeyLifecycle(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx := s.client(), t.Context()
	expires := time.Now().Add(time.Hour).Truncate(time.Second)
	key := must(c.CreateKey(ctx, client.NewKey{
		Name: "The website", Scopes: []client.Scope{client.ScopePetsRead, client.ScopeOrdersWrite}, ExpiresAt: expires,
	}))(t)
	if key.ID == 0 || key.Name != "The website" || len(key.Scopes) != 2 || len(key.Hint) != 4 || key.Secret == "" ||
		!key.ExpiresAt.Equal(expires) || !key.LastUsedAt.IsZero() || time.Since(key.CreatedAt) > time.Hour {
		t.Fatalf("created %+v", key)
	}
	website := s.clientWith(key.Secret)
	current := must(website.CurrentKey(ctx))(t)
	if current.ID != key.ID || current.Secret != "" || current.LastUsedAt.IsZero() {
		t.Errorf("the current key is %+v", current)
	}
	_, err := website.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1})
	wantCode(t, err, client.CodeInsufficientScope)

	s.requests()
	rotated := must(c.RotateKey(ctx, key.ID, 1500*time.Millisecond))(t)
	if sent := s.requests()[0]; sent.body != `{"overlapSeconds":2}` {
		t.Errorf("sent %s", sent.body)
	}
	if rotated.ID != key.ID || rotated.Secret == "" || rotated.Secret == key.Secret {
		t.Errorf("rotated to %+v", rotated)
	}
	must(s.clientWith(rotated.Secret).CurrentKey(ctx))(t)
	_, err = c.RotateKey(ctx, key.ID, -time.Second)
	wantCode(t, err, client.CodeValidationFailed)
	must(c.RotateKey(ctx, key.ID, client.DefaultOverlap))(t)

	boss := must(c.CreateKey(ctx, client.NewKey{Name: "Boss", Scopes: []client.Scope{client.ScopeAdmin}}))(t)
	if !boss.ExpiresAt.IsZero() {
		t.Errorf("created %+v", boss)
	}
	var ids []int64
	for key, err := range c.Keys(ctx) {
		if must(key, err)(t).Secret != "" {
			t.Error("the list reveals a secret")
		}
		ids = append(ids, key.ID)
	}
	if !slices.Equal(ids, []int64{boss.ID, key.ID}) {
		t.Errorf("the keys are %v", ids)
	}
	wantCode(t, c.RevokeKey(ctx, boss.ID), client.CodeLastAdminKey)
	if err := c.RevokeKey(ctx, key.ID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, c.RevokeKey(ctx, key.ID), client.CodeNotFound)
	_, err = c.RotateKey(ctx, key.ID, 0)
	wantCode(t, err, client.CodeNotFound)
	_, err = c.CreateKey(ctx, client.NewKey{Name: "x"})
	wantCode(t, err, client.CodeValidationFailed)
	s.requests()
	if _, err = c.CreateKey(ctx, client.NewKey{Name: "x", ExpiresAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil || len(s.requests()) != 0 {
		t.Errorf("a time that JSON cannot represent: %v", err)
	}
}

// A secret is shown only once. If the response that contains it is lost, the retry does not create a second
// key, and the caller gets an error.
func TestLostSecretIsReported(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx := s.client(), t.Context()
	s.inject(dropResponse)
	key, err := c.CreateKey(ctx, client.NewKey{Name: "The website", Scopes: []client.Scope{client.ScopePetsRead}})
	if !errors.Is(err, client.ErrSecretLost) || key.ID == 0 || key.Secret != "" {
		t.Fatalf("got %+v, %v", key, err)
	}
	s.inject(dropResponse)
	if _, err := c.RotateKey(ctx, key.ID, 0); !errors.Is(err, client.ErrSecretLost) {
		t.Fatal(err)
	}
	rotated := must(c.RotateKey(ctx, key.ID, 0))(t)
	if got := must(s.clientWith(rotated.Secret).CurrentKey(ctx))(t); got.ID != key.ID {
		t.Errorf("the key is %+v", got)
	}
	n := 0
	for _, err := range c.Keys(ctx) {
		must(0, err)(t)
		n++
	}
	if n != 1 {
		t.Errorf("there are %d keys", n)
	}
}
