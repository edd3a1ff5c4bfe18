package httpapi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

const example = `{"url":"https://example.com/hook"}`

func (a testResponse) webhook(t *testing.T) shop.IssuedWebhook {
	t.Helper()
	var hook shop.IssuedWebhook
	if err := json.Unmarshal(a.body, &hook); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	return hook
}

func TestWebhookLifecycle(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("GET", "/v1/webhooks", "").want(t, 200, "[]")
	created := s.do("POST", "/v1/webhooks", `{"url":"https://example.com/hook?a=1","types":["pet.updated","pet.created","pet.updated"],
		"id":99,"secret":"mine","enabled":false,"failingSince":"2020-01-01T00:00:00Z"}`)
	created.want(t, 201, "")
	hook := created.webhook(t)
	if hook.ID != 1 || hook.URL != "https://example.com/hook?a=1" || fmt.Sprint(hook.Types) != "[pet.created pet.updated]" || !hook.Enabled ||
		hook.CreatedAt != hook.UpdatedAt || time.Since(hook.CreatedAt) > time.Minute || !hook.FailingSince.IsZero() {
		t.Errorf("got %s", created.body)
	}
	if !regexp.MustCompile(`^whsec_[A-Za-z0-9+/]{43}=$`).MatchString(hook.Secret) {
		t.Errorf("the secret is %s", hook.Secret)
	}
	if location := created.Header.Get("Location"); location != "/v1/webhooks/1" {
		t.Errorf("Location is %q", location)
	}
	shown := secretMember.ReplaceAllString(strings.TrimSpace(string(created.body)), "")
	got := s.do("GET", "/v1/webhooks/1", "")
	got.want(t, 200, shown)
	s.do("GET", "/v1/webhooks", "").want(t, 200, "["+shown+"]")
	s.do("GET", "/v1/webhooks/1", "", "If-None-Match: "+got.Header.Get("ETag")).want(t, 304, "")

	changed := s.do("PATCH", "/v1/webhooks/1", `{"enabled":false,"url":"http://[2001:db8::1]:8080"}`)
	if hook := changed.webhook(t); hook.Enabled || hook.URL != "http://[2001:db8::1]:8080" || len(hook.Types) != 2 || !hook.UpdatedAt.After(hook.CreatedAt) || hook.Secret != "" {
		t.Errorf("changed to %s", changed.body)
	}
	again := s.do("GET", "/v1/webhooks/1", "")
	again.want(t, 200, strings.TrimSpace(string(changed.body)))
	s.do("PATCH", "/v1/webhooks/1", `{"enabled":false,"updatedAt":"2020-01-01T00:00:00Z"}`).want(t, 200, strings.TrimSpace(string(changed.body)))
	if tag := again.Header.Get("ETag"); tag != changed.Header.Get("ETag") || tag == got.Header.Get("ETag") {
		t.Errorf("the tag is %s, and was %s", tag, got.Header.Get("ETag"))
	}
	s.do("DELETE", "/v1/webhooks/1", "").want(t, 204, "")
	for _, ask := range []request{
		{"", "GET", "", ""}, {"", "PATCH", "", "{}"}, {"", "DELETE", "", ""}, {"", "POST", "/rotate", ""}, {"", "POST", "/test", ""},
		{"", "GET", "/deliveries", ""}, {"", "POST", "/deliveries/1/redeliver", ""},
	} {
		s.do(ask.method, "/v1/webhooks/1"+ask.path, ask.body).wantError(t, 404, shop.NotFound)
		s.do(ask.method, "/v1/webhooks/99"+ask.path, ask.body).wantError(t, 404, shop.NotFound)
	}
	if again := s.do("POST", "/v1/webhooks", example).webhook(t); again.ID != 2 {
		t.Errorf("the id %d was used again", again.ID)
	}
}

// webhookRules lists valid and invalid members. The same rules apply when a webhook is created and when it
// is changed.
var webhookRules = []struct {
	name, members string
	wrong         string // the names of the invalid members
}{
	{"an escaped path", `"url":"https://example.com/a%20b/%C3%BC"`, ""},
	{"null", `"url":null`, "url"},
	{"a number", `"url":7`, "url"},
	{"an array", `"url":["https://example.com"]`, "url"},
	{"no scheme", `"url":"example.com/hook"`, "url"},
	{"a name and a password", `"url":"https://me:secret@example.com/"`, "url"},
	{"a line break", `"url":"https://example.com/\r\nHost: x"`, "url"},
	{"a control character", `"url":"https://example.com/\u0000"`, "url"},

	{"all types", `"types":["` + strings.Join(typeNames(), `","`) + `"]`, ""},
	{"no types", `"types":[]`, ""},
	{"null for the types", `"types":null`, ""},
	{"an unknown type", `"types":["pet.created","pet.eaten"]`, "types"},
	{"the type of a test", `"types":["webhook.test"]`, "types"},
	{"a null type", `"types":[null]`, "types"},
	{"a text for the types", `"types":"pet.created"`, "types"},
	{"both", `"url":"x","types":["x"]`, "url types"},
	{"unknown members", `"id":7,"secret":"whsec_x","colour":{"a":[1]}`, ""},
}

func typeNames() (names []string) {
	for _, t := range shop.EventTypes() {
		names = append(names, string(t))
	}
	return names
}

func TestInvalidWebhookIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("POST", "/v1/webhooks", example).want(t, 201, "")
	check := func(t *testing.T, got testResponse, status int, wrong string) {
		t.Helper()
		if wrong == "" {
			got.want(t, status, "")
			return
		}
		got.wantError(t, 400, shop.ValidationFailed)
		for _, member := range []string{"url", "types", "enabled"} {
			named := strings.Contains(got.message(t), " "+member+" ")
			if wanted := strings.Contains(" "+wrong+" ", " "+member+" "); named != wanted {
				t.Errorf("the message %q names %s: %v, want %v", got.message(t), member, named, wanted)
			}
		}
	}
	for _, c := range webhookRules {
		t.Run(c.name, func(t *testing.T) {
			members := c.members
			if !strings.Contains(members, `"url"`) {
				members += `,"url":"https://example.com/hook"`
			}
			check(t, s.do("POST", "/v1/webhooks", "{"+members+"}"), 201, c.wrong)
			check(t, s.do("PATCH", "/v1/webhooks/1", "{"+c.members+"}"), 200, c.wrong)
			check(t, s.do("PATCH", "/v1/webhooks/1", "{"+c.members+`,"enabled":1}`), 200, strings.TrimSpace(c.wrong+" enabled"))
		})
	}
	check(t, s.do("POST", "/v1/webhooks", `{}`), 201, "url")
	check(t, s.do("POST", "/v1/webhooks", `{"types":["x"]}`), 201, "url types")
	for _, enabled := range []string{"null", "1", "0", `"true"`, `""`, "[]", "{}"} {
		check(t, s.do("PATCH", "/v1/webhooks/1", `{"enabled":`+enabled+`}`), 200, "enabled")
	}
	s.do("PATCH", "/v1/webhooks/99", `{"url":"x"}`).wantError(t, 400, shop.ValidationFailed)
}

// The event types can be restricted, and null or an empty array removes the restriction.
func TestEventTypesOfAWebhookCanBeRestricted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("POST", "/v1/webhooks", example).want(t, 201, "")
	for _, c := range []struct{ body, want string }{
		{`{"types":["webhook.deleted","pet.created"]}`, "[pet.created webhook.deleted]"}, {`{}`, "[pet.created webhook.deleted]"},
		{`{"types":null}`, "[]"}, {`{"types":["key.created"]}`, "[key.created]"}, {`{"types":[]}`, "[]"},
	} {
		got := s.do("PATCH", "/v1/webhooks/1", c.body, "Content-Type: application/merge-patch+json")
		if got.want(t, 200, ""); fmt.Sprint(got.webhook(t).Types) != c.want || strings.Contains(string(got.body), `"types"`) != (c.want != "[]") {
			t.Errorf("%s: %s, want %s", c.body, got.body, c.want)
		}
	}
}

// The signing secret is shown only once. It does not appear in any other response or in the log.
func TestSigningSecretIsShownOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	create := func() testResponse { return s.do("POST", "/v1/webhooks", example, "Idempotency-Key: create") }
	rotate := func() testResponse {
		return s.do("POST", "/v1/webhooks/1/rotate", `{"overlapSeconds":60}`, "Idempotency-Key: rotate")
	}
	first, second := create().webhook(t), rotate().webhook(t)
	if first.Secret == "" || second.Secret == "" || first.Secret == second.Secret || second.ID != 1 || second.CreatedAt != first.CreatedAt || !second.UpdatedAt.After(first.UpdatedAt) {
		t.Errorf("rotated from %+v to %+v", first, second)
	}
	for _, got := range []testResponse{
		create(), rotate(), s.do("PATCH", "/v1/webhooks/1", `{"enabled":false}`), s.do("GET", "/v1/webhooks/1", ""), s.do("GET", "/v1/webhooks", ""),
		s.do("POST", "/v1/webhooks/1/test", ""), s.do("GET", "/v1/webhooks/1/deliveries", ""), s.do("GET", "/v1/events", ""), s.do("GET", "/metrics", ""),
	} {
		if text := string(got.body); strings.Contains(text, "whsec_") || strings.Contains(text, `"secret"`) || got.StatusCode >= 300 {
			t.Errorf("%s %s shows %d %s", got.Request.Method, got.Request.URL, got.StatusCode, text)
		}
	}
	if strings.Contains(s.log.String(), "whsec_") {
		t.Error("the log shows a secret")
	}
	for _, overlap := range []string{"-1", "2592001", "0.5", `"60"`, "null"} {
		s.do("POST", "/v1/webhooks/1/rotate", `{"overlapSeconds":`+overlap+`}`).wantError(t, 400, shop.ValidationFailed)
	}
}
