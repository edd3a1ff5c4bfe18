package staff

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

func TestKeysAreCreatedRotatedAndRevoked(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.Key(t, shop.Admin).Secret)
	b.post("/staff/keys", "name", "", "scope", "pets:read").want(t, http.StatusUnprocessableEntity, "Name must")
	b.post("/staff/keys", "name", "till", "scope", "pets:read", "expires", "soon").want(t, http.StatusUnprocessableEntity, "expiry date must look like")
	b.post("/staff/keys", "name", "till", "scope", "pets:read", "expires", "2001-01-01").want(t, http.StatusUnprocessableEntity, "The expiry date must")
	secret := regexp.MustCompile(`ask_live_\w+`)
	made := b.post("/staff/keys", "name", "till", "scope", "pets:read", "expires", "2099-12-31").want(t, 200, "till was created", "it won’t be shown again", "Never 1 Jan 2100, 00:00 UTC")
	first := secret.FindString(made.body)
	till := s.signedIn(first)
	if again := b.mustGet("/staff/keys").want(t, 200, "till pets:read"); strings.Contains(again.body, first) {
		t.Error("the key is shown again")
	}
	b.post("/staff/keys/2/rotate", "overlap", "x").want(t, http.StatusUnprocessableEntity, "how many hours")
	b.post("/staff/keys/2/rotate", "overlap", "721").want(t, http.StatusUnprocessableEntity, "must be from 0 to")
	rotated := b.post("/staff/keys/2/rotate", "overlap", "1").want(t, 200, "till has a new secret")
	if second := secret.FindString(rotated.body); second == first || second == "" {
		t.Errorf("the new secret is %q", second)
	}
	till.mustGet("/staff/pets")
	b.post("/staff/keys/2/revoke").wantRedirect(t, "/staff/keys")
	b.post("/staff/keys/1/revoke").want(t, http.StatusConflict, "last admin key")
	b.post("/staff/keys/2/revoke").want(t, http.StatusNotFound, "no key with the id 2")
}
