package staff

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestWebhooksAreCreatedTestedAndRemoved(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey)
	b.post("/staff/webhooks", "url", "ftp://x").want(t, http.StatusUnprocessableEntity, "The URL must be")
	made := b.post("/staff/webhooks", "url", "https://example.com/hook", "type", "pet.created", "type", "pet.deleted").want(t, 200, "https://example.com/hook Active", "it won’t be shown again")
	secret := regexp.MustCompile(`whsec_[\w+/=]+`)
	first := secret.FindString(strings.ReplaceAll(made.body, "&#43;", "+"))
	b.mustGet("/staff/webhooks").want(t, 200, "https://example.com/hook Active pet.created pet.deleted")
	if again := b.mustGet("/staff/webhooks/1"); secret.MatchString(again.body) || first == "" {
		t.Error("the secret is shown again, or never")
	}
	b.post("/staff/webhooks/1/rotate", "overlap", "24").want(t, 200, "it won’t be shown again")
	b.post("/staff/webhooks/1/test").wantRedirect(t, "/staff/webhooks/1")
	b.mustGet("/staff/webhooks/1").want(t, 200, "1 webhook.test Pending 0")
	b.post("/staff/webhooks/1/deliveries/1").wantRedirect(t, "/staff/webhooks/1")
	b.mustGet("/staff/webhooks/1?status=pending").want(t, 200, "2 webhook.test Pending 0", "1 webhook.test Pending 0")
	b.mustGet("/staff/webhooks/1?status=failed").want(t, 200, "No deliveries match")
	b.post("/staff/webhooks/1/deliveries/99").want(t, http.StatusNotFound, "no delivery")
	b.post("/staff/webhooks/1", "url", "https://example.com/other").wantRedirect(t, "/staff/webhooks/1")
	b.mustGet("/staff/webhooks/1").want(t, 200, "https://example.com/other Disabled")
	b.post("/staff/webhooks/1", "url", "x", "enabled", "on").want(t, http.StatusUnprocessableEntity, "The URL must")
	b.post("/staff/webhooks/1/delete").wantRedirect(t, "/staff/webhooks")
	b.get("/staff/webhooks/1").want(t, http.StatusNotFound)
}
