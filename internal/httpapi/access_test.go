package httpapi

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"animalstore/internal/shop"
)

const realm = `Bearer realm="animalstore"`

func TestOnlyAValidBearerKeyIsAccepted(t *testing.T) {
	s := parallelShop(t)
	good := s.key(shop.Admin)
	for _, header := range []string{"Bearer " + adminKey, "Bearer " + good, "bEARER   " + good} {
		s.do("GET", "/v1/pets", "", "Authorization: "+header).want(t, 200, "[]")
	}
	s.do("GET", "/v1/pets", "", "Authorization: ").wantError(t, 401, shop.MissingAPIKey).wantHeaders(t, "WWW-Authenticate: "+realm)
	for _, header := range []string{
		"Basic YTpi", good, "Bearer", "Bearer " + good + " " + good, "Bearer nobody-knows-this-key", "Bearer " + strings.ToUpper(good),
		"Bearer " + good[:len(good)-1], "Bearer " + strings.Repeat("k", 30000), "Bearer " + adminKey[:16],
		"Bearer ask_live_000000000000000000000000000000_2j6gTR", // well-formed, but never issued
		"Bearer ask_test_" + good[9:],                           // a key for the other environment
	} {
		got := s.do("GET", "/v1/pets", "", "Authorization: "+header).wantError(t, 401, shop.InvalidAPIKey)
		got.wantHeaders(t, "WWW-Authenticate: "+realm+`, error="invalid_token"`)
	}
}

// The API key is checked before anything else in the request.
func TestAuthenticationComesFirst(t *testing.T) {
	s := parallelShop(t)
	for request, body := range map[string]string{
		"GET /v1": "", "GET /v1/nothing": "", "GET /v1//pets": "", "GET /v1/pets/": "", "GET /v1/../v1/pets": "", "GET /v1%2Fpets": "",
		"DELETE /v1/pets": "", "BREW /v1/pets": "", "GET /v1/pets?limit=0": "", "GET /v1/pets?limit=%zz": "", "GET /v1/pets/abc": "",
		"POST /v1/pets": "{", "POST /v1/pets?": strings.Repeat("x", maxBodyBytes+1), "HEAD /v1/pets": "",
		"GET /metrics": "", "GET /debug/pprof/": "", "GET /debug/pprof/heap": "",
	} {
		method, path, _ := strings.Cut(request, " ")
		s.do(method, path, body, "Authorization: ").wantError(t, 401, shop.MissingAPIKey)
		s.do(method, path, body, bearing("wrong")).wantError(t, 401, shop.InvalidAPIKey)
	}
}

func TestPublicPathsNeedNoKey(t *testing.T) {
	s := parallelShop(t)
	for _, path := range []string{"/v1/openapi.json", "/v1/openapi.yaml", "/livez", "/readyz"} {
		for _, header := range []string{"Authorization: ", bearing("wrong")} {
			s.do("GET", path, "", header).want(t, 200, "")
			s.do("OPTIONS", path, "", header).want(t, 204, "")
			s.do("POST", path, "", header).wantError(t, 405, shop.MethodNotAllowed)
		}
	}
	s.do("OPTIONS", "/v1/pets", "", "Authorization: ").want(t, 204, "")
	s.do("GET", "/nothing", "", "Authorization: ").wantError(t, 404, shop.NotFound)
}

// The admin scope allows every route. Any other scope allows only the routes that require it or need no scope.
func TestScopesLimitWhatAKeyMayDo(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	keys := map[shop.Scope]string{}
	for _, scope := range shop.Scopes() {
		keys[scope] = s.key(scope)
	}
	for _, route := range routes() {
		path := strings.NewReplacer("{petId}", "1", "{profile}", "cmdline").Replace(route.path)
		path = regexp.MustCompile("{.*?}").ReplaceAllString(path, "99")
		if route.scope != noKey {
			s.do(route.method, path, "", "Authorization: ").wantError(t, 401, shop.MissingAPIKey)
		}
		for scope, key := range keys {
			got := s.do(route.method, path, "", bearing(key))
			if scope == shop.Admin || scope == route.scope || route.scope == noKey || route.scope == anyKey {
				if got.StatusCode == 401 || got.StatusCode == 403 {
					t.Errorf("%s is refused to %s: %s", route.operation, scope, got.body)
				}
				continue
			}
			got.wantError(t, 403, shop.InsufficientScope)
			got.wantHeaders(t, "WWW-Authenticate: "+realm+`, error="insufficient_scope", scope="`+string(route.scope)+`"`)
		}
	}
}

// The router rejects a route without a scope. The operations on one path are either all public or all protected.
func TestEveryRouteNeedsAScope(t *testing.T) {
	t.Parallel()
	if _, err := newRouter(append(routes(), route{method: "GET", path: "/v1/new", operation: "new"})); err == nil {
		t.Error("a route without a scope was accepted")
	}
	for _, endpoint := range newShop(t).api.router.endpoints {
		for _, route := range endpoint.routes {
			if (route.scope == noKey) != endpoint.public {
				t.Errorf("%s needs a key and another operation on its path does not", route.operation)
			}
		}
	}
}

// If the store cannot be read, a well-formed key gets a 503, which does not reveal whether the key is valid.
func TestKeyIsNotJudgedWithoutTheStore(t *testing.T) {
	s := parallelShop(t)
	key := s.key(shop.PetsRead)
	s.Store.FailWith(func(bool) error { return shop.UnavailableError(errSecret) })
	s.do("GET", "/v1/pets", "", bearing(key)).wantError(t, 503, shop.Unavailable).wantHeaders(t, "Retry-After: 1")
	s.do("GET", "/v1/pets", "", bearing("mistyped")).wantError(t, 401, shop.InvalidAPIKey)
	s.Store.FailWith(nil)
	s.do("GET", "/v1/pets", "", bearing(key)).want(t, 200, "[]")
}

func TestOnlyConfiguredOriginsAreAllowed(t *testing.T) {
	t.Parallel()
	const shopOrigin = "https://shop.example.com"
	for _, c := range []struct{ name, configured, origin, allowed string }{
		{"none configured", "", shopOrigin, ""},
		{"the configured one", "https://other.example.com " + shopOrigin, shopOrigin, shopOrigin},
		{"one that begins alike", shopOrigin, shopOrigin + ".evil.com", ""},
		{"another scheme", shopOrigin, "http://shop.example.com", ""},
		{"null", shopOrigin, "null", ""},
		{"no browser", shopOrigin, "", ""},
		{"any", "*", "https://whatever.example.com", "*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, func(config *Config) { config.Origins = strings.Fields(c.configured) })
			origin, vary, exposed, methods, headers := "Origin: "+c.origin, "", "", "", ""
			if c.configured != "" {
				vary = "Origin"
			}
			if c.allowed != "" {
				exposed, methods, headers = corsExposedHeaders, "GET, HEAD, OPTIONS, POST", corsRequestHeaders
			}
			preflight := s.do("OPTIONS", "/v1/pets", "", origin, "Authorization: ", "Access-Control-Request-Method: POST")
			preflight.wantHeaders(t, "Access-Control-Allow-Methods: "+methods, "Access-Control-Allow-Headers: "+headers)
			for _, got := range []testResponse{
				preflight, s.do("GET", "/v1/pets", "", origin), s.do("GET", "/v1/pets", "", origin, "Authorization: "),
				s.do("GET", "/v1/nothing", "", origin),
			} {
				got.wantHeaders(t, "Access-Control-Allow-Origin: "+c.allowed, "Vary: "+vary,
					"Access-Control-Expose-Headers: "+exposed, "Access-Control-Allow-Credentials: ")
			}
			s.do("GET", "/metrics", "", origin).wantHeaders(t, "Access-Control-Allow-Origin: ")
		})
	}
}

// Pages from other origins may send and read every header that the OpenAPI document mentions.
func TestPagesMayUseEveryDocumentedHeader(t *testing.T) {
	t.Parallel()
	sent, read := strings.Split(corsRequestHeaders, ", "), strings.Split(corsExposedHeaders, ", ")
	// The service need not expose these headers. Browsers always expose Cache-Control, and they decode the content
	// themselves. The other headers are meant only for browsers, caches and proxies.
	read = append(read, "Cache-Control", "Content-Encoding", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers",
		"Strict-Transport-Security", "Vary", "X-Accel-Buffering", "X-Content-Type-Options")
	eachOperation(newShop(t).checks.Doc, func(_, _ string, operation *openapi3.Operation) {
		for _, p := range operation.Parameters {
			if p.Value.In == "header" && !slices.Contains(sent, p.Value.Name) {
				t.Errorf("%s: a page may not send %s", operation.OperationID, p.Value.Name)
			}
		}
		for _, response := range operation.Responses.Map() {
			for name := range response.Value.Headers {
				if !slices.Contains(read, name) {
					t.Errorf("%s: a page may not read %s", operation.OperationID, name)
				}
			}
		}
	})
}
