package httpapi

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// Behind a proxy that terminates TLS, every absolute URL starts with https, so that a client that follows a link does
// not send its key in the clear. If several proxies have added a protocol to a header, only the last one counts. It can
// turn http into https, but not https into http.
func TestForwardedProtocolOnlyUpgradesLinks(t *testing.T) {
	s := parallelShop(t)
	s.fill(2)
	overTLS := newShop(t)
	overTLS.fill(2)
	overTLS.overHTTP2(overTLS.api)
	public := newShop(t, func(c *Config) { c.PublicURL = "http://pets.example.com/v1" })
	public.fill(2)
	for header, https := range map[string]bool{
		"Accept: application/json":                                          false,
		"X-Forwarded-Proto: https":                                          true,
		"X-Forwarded-Proto: HTTPS":                                          true,
		"X-Forwarded-Proto: http":                                           false,
		"X-Forwarded-Proto: http, https":                                    true,
		"X-Forwarded-Proto: https, http":                                    false,
		"X-Forwarded-Proto: httpsx":                                         false,
		"X-Forwarded-Proto: javascript":                                     false,
		"Forwarded: for=192.0.2.1;proto=https;by=192.0.2.2":                 true,
		`Forwarded: for="[2001:db8::1]:80"; Proto="https"`:                  true,
		"Forwarded: for=192.0.2.1;proto=http, for=192.0.2.2;proto=https":    true,
		"Forwarded: for=192.0.2.1;proto=https, for=192.0.2.2;proto=http":    false,
		"Forwarded: for=192.0.2.1;proto=https, for=192.0.2.2":               false,
		"Forwarded: proto=wss":                                              false,
		"X-Forwarded-Ssl: on":                                               false,
		"X-Forwarded-Host: evil.example.com":                                false,
		"Forwarded: host=evil.example.com;proto=https;for=evil.example.com": true,
		"Forwarded: proto=https;host=evil.example.com;for=\"evil.example\"": true,
		"X-Forwarded-Prefix: /evil":                                         false,
	} {
		name, value, _ := strings.Cut(header, ": ")
		want := s.url + "/v1"
		if https {
			want = strings.Replace(want, "http:", "https:", 1)
		}
		wantLinks := func(s *testShop, want string) {
			t.Helper()
			got := s.do("GET", "/v1/pets?limit=1", "", name+": "+value)
			for _, relation := range []string{"first", "next"} {
				if link := got.link(relation); !strings.HasPrefix(link, want+"/pets?") {
					t.Errorf("%s: the link to %s is %s, want one below %s", header, relation, link, want)
				}
			}
			doc := shoptest.Must(openapi3.NewLoader().LoadFromData(s.do("GET", "/v1/openapi.json", "", name+": "+value).body))(t)
			if server := doc.Servers[0].URL; server != want {
				t.Errorf("%s: the document names the server %s, want %s", header, server, want)
			}
			s.do("POST", "/v1/categories", `{"name":"Dogs"}`, name+": "+value).wantHeaders(t, "Strict-Transport-Security: ")
		}
		wantLinks(s, want)
		wantLinks(overTLS, overTLS.url+"/v1")
		wantLinks(public, "http://pets.example.com/v1")
	}
	// Location is a path, which clients resolve against the URL that they used.
	s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`, "X-Forwarded-Proto: https").wantHeaders(t, "Location: /v1/pets/3")
	s.do("GET", "/v1/pets", "", "Authorization: ", "X-Forwarded-Proto: https").wantError(t, 401, shop.MissingAPIKey)
}
