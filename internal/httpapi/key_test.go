package httpapi

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"animalstore/internal/programtest"
	"animalstore/internal/shop"
)

type storedKey = shop.Key

// issued is an API key as the API shows it, including the secret of a new key.
type issued struct {
	storedKey
	Key string
}

func (a testResponse) issued(t *testing.T) issued { return parsed[issued](t, a) }

func bearing(secret string) string { return "Authorization: Bearer " + secret }

func TestKeyLifecycle(t *testing.T) {
	s := parallelShop(t)
	wantValid := func(secret string) {
		t.Helper()
		s.do("GET", "/v1/pets", "", bearing(secret)).want(t, 200, "[]")
	}
	// Package shop tests that a secret becomes invalid within a second. This test waits for as long as it takes.
	wantEnd := func(secret string) {
		t.Helper()
		programtest.Await(t, "the end of the key", func() bool {
			return s.do("GET", "/v1/pets", "", bearing(secret)).StatusCode == 401
		})
	}
	created := s.do("POST", "/v1/keys", `{"name":"Zoë's website","scopes":["pets:write","pets:read","pets:read"],
		"expiresAt":"2999-01-31t18:00:00.5+01:00","id":99,"key":"mine"}`)
	created.want(t, 201, "")
	key := created.issued(t)
	if key.ID != 1 || key.Name != "Zoë's website" || fmt.Sprint(key.Scopes) != "[pets:read pets:write]" ||
		!strings.Contains(string(created.body), `"expiresAt":"2999-01-31T17:00:00.5Z"`) || !key.LastUsedAt.IsZero() ||
		!strings.HasSuffix(key.Key, key.Hint) {
		t.Errorf("got %s", created.body)
	}
	if !regexp.MustCompile(`^ask_live_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}$`).MatchString(key.Key) {
		t.Errorf("the secret is %s", key.Key)
	}
	wantValid(key.Key)
	current := s.do("GET", "/v1/keys/current", "", bearing(key.Key)).issued(t)
	if current.ID != 1 || current.Key != "" || time.Since(current.LastUsedAt) > time.Minute {
		t.Errorf("the current key is %+v", current)
	}
	list := string(s.do("GET", "/v1/keys", "").body)
	if strings.Contains(list, key.Key) || !strings.Contains(list, `"lastUsedAt"`) {
		t.Errorf("the list is %s", list)
	}

	rotated := s.do("POST", "/v1/keys/1/rotate", "").issued(t)
	if rotated.ID != 1 || rotated.Key == key.Key || !strings.HasSuffix(rotated.Key, rotated.Hint) ||
		rotated.CreatedAt != key.CreatedAt {
		t.Errorf("rotated to %+v", rotated)
	}
	wantValid(key.Key) // both secrets are valid for a day
	wantValid(rotated.Key)
	last := s.do("POST", "/v1/keys/1/rotate", `{"overlapSeconds":0}`).issued(t)
	wantEnd(key.Key)
	wantEnd(rotated.Key)
	wantValid(last.Key)

	s.do("DELETE", "/v1/keys/1", "").want(t, 204, "")
	wantEnd(last.Key)
	s.do("DELETE", "/v1/keys/1", "").wantError(t, 404, shop.NotFound)
	s.do("GET", "/v1/keys", "").want(t, 200, "[]") // the configured key is not stored
	s.do("POST", "/v1/keys/0/rotate", "").wantError(t, 404, shop.NotFound)
	s.key(shop.Admin)
	s.do("DELETE", "/v1/keys/2", "").wantError(t, 409, shop.LastAdminKey)
}
