package staff

import (
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

func TestCategoriesAreAddedRenamedAndRemoved(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	b.post("/staff/categories", "name", "").want(422, "Name must have")
	b.post("/staff/categories", "name", "Dogs").wantRedirect("/staff/categories")
	s.AddPet(t, "Rex", 1, shop.Available)
	s.AddPet(t, "Max", 1, shop.Sold)
	s.AddPet(t, "Momo", 7, "")
	b.mustGet("/staff/categories", "1 Save 2 1 0 1", "7 Save 1 0 0 0")
	b.post("/staff/categories/7", "was-name", "", "name", "Rabbits").wantRedirect("/staff/categories")
	b.post("/staff/categories/7", "was-name", "", "name", "Hares").
		want(409, "Someone else has renamed category 7 to “Rabbits”; your change to “Hares” was not saved")
	b.post("/staff/categories/7/delete").want(409, "Category 7 still has animals")
	if err := s.DeletePet(t.Context(), 3, nil); err != nil {
		t.Fatal(err)
	}
	b.post("/staff/categories/7/delete").wantRedirect("/staff/categories")
	b.mustGet("/staff/categories").lacks("Rabbits")
}

func TestKeysAreCreatedRotatedAndRevoked(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.Key(t, shop.Admin).Secret)
	b.post("/staff/keys", "name", "", "scope", "pets:read").want(422, "Name must")
	b.post("/staff/keys", "name", "till", "scope", "pets:read", "expires", "soon").want(422, "expiry date must look like")
	b.post("/staff/keys", "name", "till", "scope", "pets:read", "expires", "2001-01-01").want(422, "The expiry date must")
	secret := regexp.MustCompile(`ask_live_\w+`)
	made := b.post("/staff/keys", "name", "till", "scope", "pets:read", "expires", "2099-12-31").
		want(200, "till was created", "it won’t be shown again", "Never 1 Jan 2100, 00:00 UTC")
	first := secret.FindString(made.body)
	till := s.signedIn(first)
	b.mustGet("/staff/keys", "till pets:read").lacks(first)
	b.post("/staff/keys/2/rotate", "overlap", "x").want(422, "how many hours")
	b.post("/staff/keys/2/rotate", "overlap", "721").want(422, "must be from 0 to")
	rotated := b.post("/staff/keys/2/rotate", "overlap", "1").want(200, "till has a new secret")
	if second := secret.FindString(rotated.body); second == first || second == "" {
		t.Errorf("the new secret is %q", second)
	}
	till.mustGet("/staff/pets")
	b.post("/staff/keys/2/revoke").wantRedirect("/staff/keys")
	b.post("/staff/keys/1/revoke").want(409, "last admin key")
	b.post("/staff/keys/2/revoke").want(404, "no key with the id 2")
}

func TestWebhooksAreCreatedTestedAndRemoved(t *testing.T) {
	t.Parallel()
	_, b := signIn(t)
	b.post("/staff/webhooks", "url", "ftp://x").want(422, "The URL must be")
	made := b.post("/staff/webhooks", "url", "https://example.com/hook", "type", "pet.created", "type", "pet.deleted").
		want(200, "https://example.com/hook Active", "it won’t be shown again")
	secret := regexp.MustCompile(`whsec_[\w+/=]+`)
	first := secret.FindString(strings.ReplaceAll(made.body, "&#43;", "+"))
	b.mustGet("/staff/webhooks", "https://example.com/hook Active pet.created pet.deleted")
	if again := b.mustGet("/staff/webhooks/1"); secret.MatchString(again.body) || first == "" {
		t.Error("the secret is shown again, or never")
	}
	b.post("/staff/webhooks/1/rotate", "overlap", "24").want(200, "it won’t be shown again")
	b.post("/staff/webhooks/1/test").wantRedirect("/staff/webhooks/1")
	b.mustGet("/staff/webhooks/1", "1 webhook.test Pending 0")
	b.post("/staff/webhooks/1/deliveries/1").wantRedirect("/staff/webhooks/1")
	b.mustGet("/staff/webhooks/1?status=pending", "2 webhook.test Pending 0", "1 webhook.test Pending 0")
	b.mustGet("/staff/webhooks/1?status=failed", "No deliveries match")
	b.post("/staff/webhooks/1/deliveries/99").want(404, "no delivery")
	b.post("/staff/webhooks/1", "url", "https://example.com/other").wantRedirect("/staff/webhooks/1")
	b.mustGet("/staff/webhooks/1", "https://example.com/other Disabled")
	b.post("/staff/webhooks/1", "url", "x", "enabled", "on").want(422, "The URL must")
	b.post("/staff/webhooks/1/delete").wantRedirect("/staff/webhooks")
	b.get("/staff/webhooks/1").want(404)
}
