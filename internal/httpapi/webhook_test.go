package httpapi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

const example = `{"url":"https://example.com/hook"}`

func (a testResponse) webhook(t *testing.T) shop.IssuedWebhook {
	return parsed[shop.IssuedWebhook](t, a)
}

func TestWebhookLifecycle(t *testing.T) {
	s := parallelShop(t)
	created := s.do("POST", "/v1/webhooks", `{"url":"https://example.com/hook?a=1",
		"types":["pet.updated","pet.created","pet.updated"],"id":99,"secret":"mine","enabled":false,"failingSince":"2020-01-01T00:00:00Z"}`)
	hook := created.webhook(t)
	if hook.ID != 1 || hook.URL != "https://example.com/hook?a=1" || fmt.Sprint(hook.Types) != "[pet.created pet.updated]" ||
		!hook.Enabled || hook.CreatedAt != hook.UpdatedAt || time.Since(hook.CreatedAt) > time.Minute || !hook.FailingSince.IsZero() ||
		!strings.HasPrefix(hook.Secret, "whsec_") {
		t.Errorf("got %s", created.body)
	}
	changed := s.do("PATCH", "/v1/webhooks/1", `{"enabled":false,"url":"http://[2001:db8::1]:8080"}`)
	if hook := changed.webhook(t); hook.Enabled || hook.URL != "http://[2001:db8::1]:8080" || len(hook.Types) != 2 ||
		!hook.UpdatedAt.After(hook.CreatedAt) || hook.Secret != "" {
		t.Errorf("changed to %s", changed.body)
	}
	s.do("PATCH", "/v1/webhooks/1", `{"enabled":false,"updatedAt":"2020-01-01T00:00:00Z"}`).want(t, 200, "")
	s.wantStored(t, "/v1/webhooks/1", changed)
	s.do("GET", "/v1/webhooks/1", "", "If-None-Match: "+changed.Header.Get("ETag")).want(t, 304, "")
	for _, types := range []string{`null`, `["key.created"]`, `[]`} { // null or an empty array removes all types
		got := s.do("PATCH", "/v1/webhooks/1", `{"types":`+types+`}`, "Content-Type: application/merge-patch+json")
		got.want(t, 200, "")
		_, shown, restricted := strings.Cut(string(got.body), `"types":`)
		if want := strings.Contains(types, "key"); restricted != want || want && !strings.HasPrefix(shown, types) {
			t.Errorf("%s: %s", types, got.body)
		}
	}
	s.do("DELETE", "/v1/webhooks/1", "").want(t, 204, "")
	s.do("GET", "/v1/webhooks/1", "").wantError(t, 404, shop.NotFound)
}

// The signing secret is shown only once. It does not appear in any other response or in the log.
func TestSigningSecretIsShownOnce(t *testing.T) {
	s := parallelShop(t)
	create := func() testResponse { return s.do("POST", "/v1/webhooks", example, "Idempotency-Key: create") }
	rotate := func() testResponse { return s.do("POST", "/v1/webhooks/1/rotate", "", "Idempotency-Key: rotate") }
	first, second := create().webhook(t), rotate().webhook(t)
	if first.Secret == "" || second.Secret == "" || first.Secret == second.Secret || second.ID != 1 ||
		second.CreatedAt != first.CreatedAt || !second.UpdatedAt.After(first.UpdatedAt) {
		t.Errorf("rotated from %+v to %+v", first, second)
	}
	for _, got := range []testResponse{
		create(), rotate(), s.do("PATCH", "/v1/webhooks/1", `{"enabled":false}`), s.do("GET", "/v1/webhooks/1", ""),
		s.do("GET", "/v1/webhooks", ""), s.do("POST", "/v1/webhooks/1/test", ""), s.do("GET", "/v1/webhooks/1/deliveries", ""),
		s.do("GET", "/v1/events", ""), s.do("GET", "/metrics", ""),
	} {
		if text := string(got.body); strings.Contains(text, "whsec_") || strings.Contains(text, `"secret"`) || got.StatusCode >= 300 {
			t.Errorf("%s %s shows %d %s", got.Request.Method, got.Request.URL, got.StatusCode, text)
		}
	}
	if strings.Contains(s.log.String(), "whsec_") {
		t.Error("the log shows a secret")
	}
}
