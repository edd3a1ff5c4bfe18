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

// issued is an API key as the API shows it, including the secret of a new key.
type issued struct {
	ID         int64
	Name       string
	Scopes     []string
	Hint       string
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	LastUsedAt *time.Time
	Key        string
}

func (a testResponse) issued(t *testing.T) issued {
	t.Helper()
	var key issued
	if err := json.Unmarshal(a.body, &key); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	return key
}

func bearing(secret string) string { return "Authorization: Bearer " + secret }

func TestKeyLifecycle(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	created := s.do("POST", "/v1/keys", `{"name":"Zoë's website","scopes":["pets:write","pets:read","pets:read"],"id":99,"key":"mine"}`)
	created.want(t, 201, "")
	key := created.issued(t)
	if key.ID != 1 || key.Name != "Zoë's website" || fmt.Sprint(key.Scopes) != "[pets:read pets:write]" ||
		!strings.HasSuffix(key.Key, key.Hint) || key.ExpiresAt != nil || key.LastUsedAt != nil {
		t.Errorf("got %s", created.body)
	}
	if !regexp.MustCompile(`^ask_live_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}$`).MatchString(key.Key) {
		t.Errorf("the secret is %s", key.Key)
	}
	s.do("GET", "/v1/pets", "", bearing(key.Key)).want(t, 200, "[]")

	current := s.do("GET", "/v1/keys/current", "", bearing(key.Key)).issued(t)
	if current.ID != 1 || current.Key != "" || current.LastUsedAt == nil || time.Since(*current.LastUsedAt) > time.Minute {
		t.Errorf("the current key is %+v", current)
	}
	list := s.do("GET", "/v1/keys", "")
	list.want(t, 200, "")
	if strings.Contains(string(list.body), key.Key) || !strings.Contains(string(list.body), `"lastUsedAt"`) {
		t.Errorf("the list is %s", list.body)
	}

	rotated := s.do("POST", "/v1/keys/1/rotate", "").issued(t)
	if rotated.ID != 1 || rotated.Key == key.Key || !strings.HasSuffix(rotated.Key, rotated.Hint) || rotated.CreatedAt != key.CreatedAt {
		t.Errorf("rotated to %+v", rotated)
	}
	for _, secret := range []string{key.Key, rotated.Key} { // both secrets are valid for a day
		s.do("GET", "/v1/pets", "", bearing(secret)).want(t, 200, "[]")
	}
	last := s.do("POST", "/v1/keys/1/rotate", `{"overlapSeconds":0}`).issued(t)
	for _, secret := range []string{key.Key, rotated.Key} {
		s.eventually(t, secret, 401)
	}
	s.do("GET", "/v1/pets", "", bearing(last.Key)).want(t, 200, "[]")

	s.do("DELETE", "/v1/keys/1", "").want(t, 204, "")
	s.eventually(t, last.Key, 401)
	s.do("DELETE", "/v1/keys/1", "").wantError(t, 404, shop.NotFound)
	s.do("GET", "/v1/keys", "").want(t, 200, "[]")
}

// eventually waits until requests with the given key get the given status. The API guarantees that this
// takes at most a second, but eventually does not check the time.
func (s *testShop) eventually(t *testing.T, secret string, status int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got := s.do("GET", "/v1/pets", "", bearing(secret)); got.StatusCode == status {
			return
		}
	}
	t.Errorf("the key never gets %d", status)
}

func TestInvalidKeyIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, c := range []struct {
		name, body string
		code       shop.Code
		members    string
	}{
		{"nothing", ``, shop.InvalidJSON, ""},
		{"no members", `{}`, shop.ValidationFailed, "name scopes"},
		{"null members", `{"name":null,"scopes":null,"expiresAt":null}`, shop.ValidationFailed, "name scopes expiresAt"},
		{"name with a tab", `{"name":"a\tb","scopes":["admin"]}`, shop.ValidationFailed, "name"},
		{"name of 201 characters", `{"name":"` + strings.Repeat("é", 201) + `","scopes":["admin"]}`, shop.ValidationFailed, "name"},
		{"no scope", `{"name":"x","scopes":[]}`, shop.ValidationFailed, "scopes"},
		{"scope number", `{"name":"x","scopes":[1]}`, shop.ValidationFailed, "scopes"},
		{"scope unknown", `{"name":"x","scopes":["admin","pets:fly"]}`, shop.ValidationFailed, "scopes"},
		{"scope in upper case", `{"name":"x","scopes":["Admin"]}`, shop.ValidationFailed, "scopes"},
		{"route mark as scope", `{"name":"x","scopes":["any"]}`, shop.ValidationFailed, "scopes"},
		{"expired", `{"name":"x","scopes":["admin"],"expiresAt":"2020-01-01T00:00:00Z"}`, shop.ValidationFailed, "expiresAt"},
		{"expiry that is no day", `{"name":"x","scopes":["admin"],"expiresAt":"2099-02-30T00:00:00Z"}`, shop.ValidationFailed, "expiresAt"},
		{"expiry that is the zero time", `{"name":"x","scopes":["admin"],"expiresAt":"0001-01-01T00:00:00Z"}`, shop.ValidationFailed, "expiresAt"},
		{"expiry beyond the year 9999", `{"name":"x","scopes":["admin"],"expiresAt":"9999-12-31T23:59:59-01:00"}`, shop.ValidationFailed, "expiresAt"},
		{"expiry that is nearly RFC 3339", `{"name":"x","scopes":["admin"],"expiresAt":"2099-01-31T8:00:00,5Z"}`, shop.ValidationFailed, "expiresAt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.do("POST", "/v1/keys", c.body)
			got.wantError(t, 400, c.code)
			for _, member := range []string{"name", "scopes", "expiresAt"} {
				named := strings.Contains(got.message(t), " "+member+" ")
				if wanted := strings.Contains(" "+c.members+" ", " "+member+" "); c.code == shop.ValidationFailed && named != wanted {
					t.Errorf("the message %q names %s: %v, want %v", got.message(t), member, named, wanted)
				}
			}
		})
	}
	s.do("GET", "/v1/keys", "").want(t, 200, "[]")
}

func TestInvalidRotateAndRevokeAreRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.key(shop.PetsRead)
	for _, overlap := range []string{"-1", "2592001", "0.5", `"60"`, "null", "true", "1e30", "-1e30", "9223372036854775807"} {
		got := s.do("POST", "/v1/keys/1/rotate", `{"overlapSeconds":`+overlap+`}`)
		got.wantError(t, 400, shop.ValidationFailed)
		if !strings.Contains(got.message(t), "overlapSeconds") {
			t.Errorf("%s: %s", overlap, got.message(t))
		}
	}
	for _, overlap := range []string{"0", "2592000", "60.0"} {
		s.do("POST", "/v1/keys/1/rotate", `{"overlapSeconds":`+overlap+`}`).want(t, 200, "")
	}
	s.do("GET", "/v1/keys/current", "").want(t, 200, "")
	s.do("DELETE", "/v1/keys/current", "").wantError(t, 405, shop.MethodNotAllowed)
}

// The expiry of a key may be given in any time zone and is shown in UTC.
func TestExpiryIsShownInUTC(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	end := s.Clock.Now().Add(time.Hour).Truncate(time.Microsecond)
	body := fmt.Sprintf(`{"name":"x","scopes":["pets:read"],"expiresAt":%q}`, end.In(time.FixedZone("", 3600)).Format(time.RFC3339Nano))
	key := s.do("POST", "/v1/keys", body).issued(t)
	if key.ExpiresAt == nil || !key.ExpiresAt.Equal(end) || key.ExpiresAt.Location() != time.UTC {
		t.Errorf("it expires at %v, want %v in UTC", key.ExpiresAt, end)
	}
	s.do("POST", "/v1/keys", `{"name":"x","scopes":["pets:read"],"expiresAt":"9999-12-31t23:59:59.999999999z"}`).want(t, 201, "")
	s.do("GET", "/v1/keys/current", "", bearing(key.Key)).want(t, 200, "")
	s.Clock.Forward(time.Hour)
	s.do("GET", "/v1/keys/current", "", bearing(key.Key)).wantError(t, 401, shop.InvalidAPIKey)
}

func TestRevokingTheLastAdminKeyIsAConflict(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.key(shop.Admin)
	s.do("DELETE", "/v1/keys/1", "").wantError(t, 409, shop.LastAdminKey)
}

// The configured key is identified by its name. It is not stored, so it is neither listed nor rotated.
func TestConfiguredKeyIsNotStored(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	got := s.do("GET", "/v1/keys/current", "").issued(t)
	if got.ID != 0 || got.Name != "configured" || fmt.Sprint(got.Scopes) != "[admin]" || got.Key != "" || !strings.HasSuffix(adminKey, got.Hint) {
		t.Errorf("the configured key is %+v", got)
	}
	s.do("GET", "/v1/keys", "").want(t, 200, "[]")
	s.do("POST", "/v1/keys/0/rotate", "").wantError(t, 404, shop.NotFound)
}
