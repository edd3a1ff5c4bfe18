package httpapi

import (
	"errors"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

const realm = `Bearer realm="animalstore"`

func TestOnlyAValidBearerKeyIsAccepted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	good := s.key(shop.Admin)
	swapped := good[:12] + flip(good[12]) + good[13:]
	expired, err := s.CreateKey(t.Context(), shop.NewKey{Name: "short", Scopes: []shop.Scope{shop.Admin}, ExpiresAt: s.Clock.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	s.Clock.Forward(time.Hour)
	for _, c := range []struct {
		name   string
		header string
		code   shop.Code // the expected error code, or "" if the request is accepted
	}{
		{"none", "Authorization: ", shop.MissingAPIKey},
		{"the configured key", "Authorization: Bearer " + adminKey, ""},
		{"an issued key", "Authorization: Bearer " + good, ""},
		{"the scheme in lower case", "Authorization: bearer " + good, ""},
		{"the scheme in odd case", "Authorization: bEARER " + good, ""},
		{"more spaces", "Authorization: Bearer   " + good, ""},
		{"another scheme", "Authorization: Basic YTpi", shop.InvalidAPIKey},
		{"no scheme", "Authorization: " + good, shop.InvalidAPIKey},
		{"the scheme alone", "Authorization: Bearer", shop.InvalidAPIKey},
		{"two keys", "Authorization: Bearer " + good + " " + good, shop.InvalidAPIKey},
		{"unknown", "Authorization: Bearer nobody-knows-this-key", shop.InvalidAPIKey},
		{"mistyped", "Authorization: Bearer " + swapped, shop.InvalidAPIKey},
		{"in upper case", "Authorization: Bearer " + strings.ToUpper(good), shop.InvalidAPIKey},
		{"cut short", "Authorization: Bearer " + good[:len(good)-1], shop.InvalidAPIKey},
		{"too long", "Authorization: Bearer " + good + "0", shop.InvalidAPIKey},
		{"huge", "Authorization: Bearer " + strings.Repeat("k", 30000), shop.InvalidAPIKey},
		{"a part of the configured key", "Authorization: Bearer " + adminKey[:16], shop.InvalidAPIKey},
		{"well-formed but never issued", "Authorization: Bearer ask_live_000000000000000000000000000000_2j6gTR", shop.InvalidAPIKey},
		{"of the other environment", "Authorization: Bearer ask_test_" + good[9:], shop.InvalidAPIKey},
		{"expired", "Authorization: Bearer " + expired.Secret, shop.InvalidAPIKey},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.do("GET", "/v1/pets", "", c.header)
			challenge := got.Header.Get("WWW-Authenticate")
			switch c.code {
			case "":
				got.want(t, 200, "[]")
			case shop.MissingAPIKey:
				got.wantError(t, 401, c.code)
				if challenge != realm {
					t.Errorf("WWW-Authenticate is %q", challenge)
				}
			default:
				got.wantError(t, 401, c.code)
				if challenge != realm+`, error="invalid_token"` {
					t.Errorf("WWW-Authenticate is %q", challenge)
				}
			}
		})
	}
}

// flip returns a digit that differs from the given one. Tests use it to corrupt a key.
func flip(digit byte) string {
	if digit == 'a' {
		return "b"
	}
	return "a"
}

// The API key is checked before anything else in the request.
func TestAuthenticationComesFirst(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/v1", ""},
		{"GET", "/v1/", ""},
		{"GET", "/v1/nothing", ""},
		{"GET", "/v1//pets", ""},
		{"GET", "/v1/pets/", ""},
		{"GET", "/v1/../v1/pets", ""},
		{"GET", "/v1%2Fpets", ""},
		{"DELETE", "/v1/pets", ""},
		{"BREW", "/v1/pets", ""},
		{"GET", "/v1/pets?limit=0", ""},
		{"GET", "/v1/pets?limit=%zz", ""},
		{"GET", "/v1/pets/abc", ""},
		{"POST", "/v1/pets", "{"},
		{"POST", "/v1/pets", strings.Repeat("x", maxBodyBytes+1)},
		{"HEAD", "/v1/pets", ""},
		{"GET", "/metrics", ""},
		{"GET", "/debug/pprof/", ""},
		{"GET", "/debug/pprof/heap", ""},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			s.do(c.method, c.path, c.body, "Authorization: ").wantError(t, 401, shop.MissingAPIKey)
			s.do(c.method, c.path, c.body, "Authorization: Bearer wrong").wantError(t, 401, shop.InvalidAPIKey)
		})
	}
}

func TestPublicPathsNeedNoKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, path := range []string{"/v1/openapi.json", "/v1/openapi.yaml", "/livez", "/readyz"} {
		for _, header := range []string{"Authorization: ", "Authorization: Bearer wrong"} {
			s.do("GET", path, "", header).want(t, 200, "")
			s.do("OPTIONS", path, "", header).want(t, 204, "")
			s.do("POST", path, "", header).wantError(t, 405, shop.MethodNotAllowed)
		}
	}
	s.do("OPTIONS", "/v1/pets", "", "Authorization: ").want(t, 204, "")
	s.do("GET", "/nothing", "", "Authorization: ").wantError(t, 404, shop.NotFound)
}

// Every route has a scope. The admin scope allows every route, and any other scope allows only the routes
// that require it or need no scope.
func TestScopesLimitWhatAKeyMayDo(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	keys := map[shop.Scope]string{}
	for _, scope := range shop.Scopes() {
		keys[scope] = s.key(scope)
	}
	for _, route := range routes() {
		if route.scope == "" {
			t.Errorf("%s has no scope", route.operation)
			continue
		}
		path := strings.NewReplacer("{petId}", "1", "{keyId}", "99", "{categoryId}", "99", "{orderId}", "99", "{webhookId}", "99", "{deliveryId}", "99", "{profile}", "cmdline").Replace(route.path)
		if route.scope != noKey {
			s.do(route.method, path, "", "Authorization: ").wantError(t, 401, shop.MissingAPIKey)
		}
		for scope, key := range keys {
			got := s.do(route.method, path, "", "Authorization: Bearer "+key)
			if scope == shop.Admin || scope == route.scope || route.scope == noKey || route.scope == anyKey {
				if got.StatusCode == 401 || got.StatusCode == 403 {
					t.Errorf("%s is refused to %s: %s", route.operation, scope, got.body)
				}
				continue
			}
			got.wantError(t, 403, shop.InsufficientScope)
			want := realm + `, error="insufficient_scope", scope="` + string(route.scope) + `"`
			if challenge := got.Header.Get("WWW-Authenticate"); challenge != want {
				t.Errorf("%s for %s: WWW-Authenticate is %q", route.operation, scope, challenge)
			}
		}
	}
}

// The router rejects a route without a scope. If one operation on a path is public, all operations on that
// path are.
func TestEveryRouteNeedsAScope(t *testing.T) {
	t.Parallel()
	if _, err := newRouter(append(routes(), route{method: "GET", path: "/v1/new", operation: "new"})); err == nil {
		t.Error("a route without a scope was accepted")
	}
	for _, endpoint := range mustEndpoints(t) {
		for _, route := range endpoint.routes {
			if (route.scope == noKey) != endpoint.public {
				t.Errorf("%s needs a key and another operation on its path does not", route.operation)
			}
		}
	}
}

func mustEndpoints(t *testing.T) []*endpoint {
	t.Helper()
	all, err := newRouter(routes())
	if err != nil {
		t.Fatal(err)
	}
	return all.endpoints
}

// If the store cannot be read, the response to a well-formed key is a 503 and does not reveal whether the
// key is valid.
func TestKeyIsNotJudgedWithoutTheStore(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	key := s.key(shop.PetsRead)
	s.Store.FailWith(func(bool) error { return shop.UnavailableError(errors.New("gone fishing")) })
	got := s.do("GET", "/v1/pets", "", "Authorization: Bearer "+key)
	got.wantError(t, 503, shop.Unavailable)
	if after := got.Header.Get("Retry-After"); after != "1" {
		t.Errorf("Retry-After is %q", after)
	}
	s.do("GET", "/v1/pets", "", "Authorization: Bearer mistyped").wantError(t, 401, shop.InvalidAPIKey)
	s.Store.FailWith(nil)
	s.do("GET", "/v1/pets", "", "Authorization: Bearer "+key).want(t, 200, "[]")
}
