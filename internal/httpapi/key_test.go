package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
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
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
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
		{"array", `[]`, shop.InvalidJSON, ""},
		{"no members", `{}`, shop.ValidationFailed, "name scopes"},
		{"null members", `{"name":null,"scopes":null,"expiresAt":null}`, shop.ValidationFailed, "name scopes expiresAt"},
		{"name empty", `{"name":"","scopes":["admin"]}`, shop.ValidationFailed, "name"},
		{"name with a tab", `{"name":"a\tb","scopes":["admin"]}`, shop.ValidationFailed, "name"},
		{"name of 201 characters", `{"name":"` + strings.Repeat("é", 201) + `","scopes":["admin"]}`, shop.ValidationFailed, "name"},
		{"no scope", `{"name":"x","scopes":[]}`, shop.ValidationFailed, "scopes"},
		{"scope text", `{"name":"x","scopes":"admin"}`, shop.ValidationFailed, "scopes"},
		{"scope number", `{"name":"x","scopes":[1]}`, shop.ValidationFailed, "scopes"},
		{"scope null", `{"name":"x","scopes":[null]}`, shop.ValidationFailed, "scopes"},
		{"scope unknown", `{"name":"x","scopes":["admin","pets:fly"]}`, shop.ValidationFailed, "scopes"},
		{"scope in upper case", `{"name":"x","scopes":["Admin"]}`, shop.ValidationFailed, "scopes"},
		{"scope with a space", `{"name":"x","scopes":["pets:read admin"]}`, shop.ValidationFailed, "scopes"},
		{"route mark as scope", `{"name":"x","scopes":["any"]}`, shop.ValidationFailed, "scopes"},
		{"expired", `{"name":"x","scopes":["admin"],"expiresAt":"2020-01-01T00:00:00Z"}`, shop.ValidationFailed, "expiresAt"},
		{"expiry as a date", `{"name":"x","scopes":["admin"],"expiresAt":"2099-01-01"}`, shop.ValidationFailed, "expiresAt"},
		{"expiry that is no day", `{"name":"x","scopes":["admin"],"expiresAt":"2099-02-30T00:00:00Z"}`, shop.ValidationFailed, "expiresAt"},
		{"expiry as a number", `{"name":"x","scopes":["admin"],"expiresAt":4070908800}`, shop.ValidationFailed, "expiresAt"},
		{"expiry that is the zero time", `{"name":"x","scopes":["admin"],"expiresAt":"0001-01-01T00:00:00Z"}`, shop.ValidationFailed, "expiresAt"},
		{"expiry beyond the year 9999", `{"name":"x","scopes":["admin"],"expiresAt":"9999-12-31T23:59:59-01:00"}`, shop.ValidationFailed, "expiresAt"},
		{"expiry that is nearly RFC 3339", `{"name":"x","scopes":["admin"],"expiresAt":"2099-01-31T8:00:00,5Z"}`, shop.ValidationFailed, "expiresAt"},
		{"expiry empty", `{"name":"x","scopes":["admin"],"expiresAt":""}`, shop.ValidationFailed, "expiresAt"},
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
	s.do("POST", "/v1/keys", `{}`, "Content-Type: text/plain").wantError(t, 415, shop.UnsupportedMediaType)
	s.do("POST", "/v1/keys", strings.Repeat(" ", maxBodyBytes+1)).wantError(t, 413, shop.PayloadTooLarge)
	s.do("GET", "/v1/keys", "").want(t, 200, "[]")
}

func TestInvalidRotateAndRevokeAreRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.key(shop.PetsRead)
	for _, id := range []string{"0", "-1", "99", "abc", "1.0", "9223372036854775808", "1%2F"} {
		s.do("POST", "/v1/keys/"+id+"/rotate", "{}").wantError(t, 404, shop.NotFound)
		s.do("DELETE", "/v1/keys/"+id, "").wantError(t, 404, shop.NotFound)
	}
	for _, overlap := range []string{"-1", "2592001", "0.5", `"60"`, "null", "true", "1e30", "-1e30", "9223372036854775807"} {
		got := s.do("POST", "/v1/keys/1/rotate", `{"overlapSeconds":`+overlap+`}`)
		got.wantError(t, 400, shop.ValidationFailed)
		if !strings.Contains(got.message(t), "overlapSeconds") {
			t.Errorf("%s: %s", overlap, got.message(t))
		}
	}
	s.do("POST", "/v1/keys/1/rotate", `[]`).wantError(t, 400, shop.InvalidJSON)
	s.do("POST", "/v1/keys/1/rotate", `{}`, "Content-Type: text/plain").wantError(t, 415, shop.UnsupportedMediaType)
	s.do("POST", "/v1/keys/1/rotate", strings.Repeat(" ", maxBodyBytes+1)).wantError(t, 413, shop.PayloadTooLarge)
	for _, overlap := range []string{"0", "2592000", "60.0"} {
		s.do("POST", "/v1/keys/1/rotate", `{"overlapSeconds":`+overlap+`}`).want(t, 200, "")
	}
	s.do("GET", "/v1/keys/current", "").want(t, 200, "")
	s.do("DELETE", "/v1/keys/current", "").wantError(t, 405, shop.MethodNotAllowed)
}

func TestExpiringKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var key issued
	end := soon(t, func(at time.Time) bool {
		there := at.In(time.FixedZone("", 3600))
		got := s.do("POST", "/v1/keys", fmt.Sprintf(`{"name":"x","scopes":["pets:read"],"expiresAt":%q}`, there.Format(time.RFC3339Nano)))
		key = got.issued(t)
		return got.StatusCode == 201
	})
	if !key.ExpiresAt.Equal(end.Truncate(time.Microsecond)) || key.ExpiresAt.Location() != time.UTC {
		t.Errorf("it expires at %v, want %v in UTC", key.ExpiresAt, end)
	}
	s.do("POST", "/v1/keys", `{"name":"x","scopes":["pets:read"],"expiresAt":"9999-12-31t23:59:59.999999999z"}`).want(t, 201, "")
	s.do("GET", "/v1/keys", "").want(t, 200, "")
	s.eventually(t, key.Key, 401)
	if time.Now().Before(end) {
		t.Error("the key was refused before it expired")
	}
}

func TestLastAdminKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ids := make([]int64, 4)
	for i, body := range []string{
		`{"name":"boss","scopes":["admin"]}`, `{"name":"reader","scopes":["pets:read"]}`,
		`{"name":"deputy","scopes":["pets:read","admin"]}`, `{"name":"guest","scopes":["admin"],"expiresAt":"2099-01-01T00:00:00Z"}`,
	} {
		ids[i] = s.do("POST", "/v1/keys", body).issued(t).ID
	}
	revoke := func(id int64) testResponse { return s.do("DELETE", fmt.Sprintf("/v1/keys/%d", id), "") }
	revoke(ids[2]).want(t, 204, "")
	revoke(ids[0]).want(t, 204, "")
	revoke(ids[3]).wantError(t, 409, shop.LastAdminKey)
	revoke(ids[1]).want(t, 204, "")
	revoke(ids[3]).wantError(t, 409, shop.LastAdminKey)
}

// If several requests revoke all admin keys at the same time, one admin key is left.
func TestLastAdminKeyUnderConcurrency(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for range 20 {
		var ids []int64
		for range 4 {
			ids = append(ids, s.do("POST", "/v1/keys", `{"name":"boss","scopes":["admin"]}`).issued(t).ID)
		}
		var wg sync.WaitGroup
		for _, id := range ids {
			wg.Go(func() {
				if got, err := s.tryDo("DELETE", fmt.Sprintf("/v1/keys/%d", id), ""); err != nil || got.StatusCode != 204 && got.StatusCode != 409 {
					t.Errorf("revoking: %v %s", err, got.body)
				}
			})
		}
		wg.Wait()
		var left []issued
		if err := json.Unmarshal(s.do("GET", "/v1/keys", "").body, &left); err != nil || len(left) != 1 {
			t.Fatalf("%d keys are left (%v)", len(left), err)
		}
	}
}

func TestKeysArePaginated(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for range 5 {
		s.key(shop.PetsRead)
	}
	var seen []int64
	for path := "/v1/keys?limit=2"; path != ""; {
		got := s.do("GET", path, "")
		var keys []issued
		if err := json.Unmarshal(got.body, &keys); err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			seen = append(seen, key.ID)
		}
		path = got.link("next")
	}
	if fmt.Sprint(seen) != "[5 4 3 2 1]" {
		t.Errorf("saw %v", seen)
	}
	s.do("GET", "/v1/keys?limit=0", "").wantError(t, 400, shop.InvalidParameter)
	s.do("GET", "/v1/keys?cursor=x", "").wantError(t, 400, shop.InvalidCursor)
	s.do("GET", "/v1/keys?limit=%zz", "").wantError(t, 400, shop.InvalidParameter)
}

// The configured key is identified by its name. It is not stored, so it is neither listed nor rotated.
func TestConfiguredKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	got := s.do("GET", "/v1/keys/current", "").issued(t)
	if got.ID != 0 || got.Name != "configured" || fmt.Sprint(got.Scopes) != "[admin]" || got.Key != "" || !strings.HasSuffix(adminKey, got.Hint) {
		t.Errorf("the configured key is %+v", got)
	}
	s.do("GET", "/v1/keys", "").want(t, 200, "[]")
	s.do("POST", "/v1/keys/0/rotate", "").wantError(t, 404, shop.NotFound)
}

// Using a key does not cause a write of its own. The time of the last use is stored later.
func TestLastUsedAt(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	secret := s.key(shop.PetsRead)
	stored := func() (at time.Time) {
		err := s.store.Read(t.Context(), func(tx shop.ReadTx) error {
			key, _, err := tx.Key(1)
			at = key.LastUsedAt
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	s.do("GET", "/v1/pets", "", bearing(secret))
	if !stored().IsZero() {
		t.Error("one use cost a write of its own")
	}
	s.store.failWith(func(bool) error { return shop.UnavailableError(errors.New("gone fishing")) })
	if err := s.service.SaveLastUsed(t.Context()); err == nil {
		t.Error("uses were saved without the store")
	}
	s.store.failWith(nil)
	if err := s.service.SaveLastUsed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if time.Since(stored()) > time.Minute {
		t.Errorf("the last use is %v", stored())
	}
}
