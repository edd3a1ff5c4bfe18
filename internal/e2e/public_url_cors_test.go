package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// forgedProxyHeaders contains headers with which a client could pretend to be a reverse proxy.
var forgedProxyHeaders = []string{
	"X-Forwarded-Host: evil.example.com", "X-Forwarded-Proto: https", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Port: 443",
	"X-Forwarded-Prefix: /evil", "X-Original-Host: evil.example.com", "Forwarded: for=192.0.2.1;host=evil.example.com;proto=https",
}

// TestLinksUsePublicURLAndIgnoreForwardedHeaders checks every place where a response contains the service's
// address.
func TestLinksUsePublicURLAndIgnoreForwardedHeaders(t *testing.T) {
	t.Parallel()
	const public, staging = "https://pets.example.com/shop/v1", "https://staging.example.com/v1"
	const requested = "http://pets.internal:8080/v1" // taken from the request's Host header
	tests := map[string]struct {
		flags    []string
		base     string
		location string
		servers  []string
	}{
		"none":    {nil, requested, "/v1/pets/", []string{requested}},
		"public":  {[]string{"--public-url", public}, public, "/shop/v1/pets/", []string{public}},
		"staging": {[]string{"--staging-url", staging}, requested, "/v1/pets/", []string{requested, staging}},
		"both": {[]string{"--public-url", public, "--staging-url", staging}, public, "/shop/v1/pets/",
			[]string{public, staging}},
		"staging itself": {[]string{"--environment", "staging", "--public-url", staging, "--staging-url", staging}, staging,
			"/v1/pets/", []string{staging}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFolderWithKey(t).serve(test.flags...)
			for range 2 {
				_, a := p.create(pet{Name: "Rex"})
				if location := a.header.Get("Location"); !strings.HasPrefix(location, test.location) {
					t.Errorf("Location: got %q, want prefix %q", location, test.location)
				}
			}
			for headers, fields := range map[string][]string{"plain headers": nil, "forged headers": forgedProxyHeaders} {
				fields = append([]string{"Host: pets.internal:8080"}, fields...)
				a := p.send("GET", "/v1/pets?limit=1", adminKey, "", fields...)
				expectStatus(t, a, 200)
				link := a.header.Get("Link")
				if !strings.Contains(link, "<"+test.base+`/pets?limit=1>; rel="first"`) ||
					!strings.Contains(link, "<"+test.base+`/pets?cursor=`) || strings.Contains(link, "evil") {
					t.Errorf("%s: Link: got %s, want URLs under %s", headers, link, test.base)
				}
				a = p.send("GET", "/v1/openapi.json", "", "", fields...)
				document := decode[struct{ Servers []struct{ URL string } }](t, a.body)
				var servers []string
				for _, server := range document.Servers {
					servers = append(servers, server.URL)
				}
				if diff := cmp.Diff(test.servers, servers); diff != "" {
					t.Errorf("%s: servers (-want +got):\n%s", headers, diff)
				}
				a = p.send("GET", "/v1/openapi.yaml", "", "", fields...)
				for _, server := range test.servers {
					if !strings.Contains(a.body, server) || strings.Contains(a.body, "evil") {
						t.Errorf("%s: the YAML document lacks the server %s or contains a forged host", headers, server)
					}
				}
			}
		})
	}
}

// TestCORSAllowsConfiguredOriginsOnly sends the requests that a browser would send for pages from several
// origins.
func TestCORSAllowsConfiguredOriginsOnly(t *testing.T) {
	t.Parallel()
	const shop, office, evil = "https://shop.example.com", "http://localhost:3000", "https://evil.example.com"
	tests := []struct {
		flags   []string
		origin  string
		allowed string
	}{
		{nil, shop, ""},
		{[]string{"--cors-origin", shop}, shop, shop},
		{[]string{"--cors-origin", shop}, evil, ""},
		{[]string{"--cors-origin", shop}, shop + ".evil.example.com", ""},
		{[]string{"--cors-origin", shop}, "null", ""},
		{[]string{"--cors-origin", shop, "--cors-origin", office}, office, office},
		{[]string{"--cors-origin", shop + "," + office}, office, office},
		{[]string{"--cors-origin", "*"}, evil, "*"},
	}
	for _, test := range tests {
		t.Run(strings.Join(append(slices.Clone(test.flags), test.origin), " "), func(t *testing.T) {
			t.Parallel()
			p := newFolderWithKey(t).serve(test.flags...)

			// The browser first sends a preflight request without a key.
			preflight := p.send("OPTIONS", "/v1/pets", "", "", "Origin: "+test.origin,
				"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type")
			expectStatus(t, preflight, 204)
			for name, needed := range map[string][]string{
				"Access-Control-Allow-Methods": {"GET", "POST"},
				"Access-Control-Allow-Headers": {"Authorization", "Content-Type"},
			} {
				for _, word := range needed {
					value := preflight.header.Get(name)
					if allowed := slices.Contains(strings.Split(value, ", "), word); allowed != (test.allowed != "") {
						t.Errorf("%s: got %q; contains %s: got %t, want %t", name, value, word, allowed, test.allowed != "")
					}
				}
			}

			// The browser then sends the actual request. Pages from allowed origins can also read error
			// responses.
			created := p.send("POST", "/v1/pets", adminKey, pet{Name: "Rex"}.json(), "Origin: "+test.origin)
			expectStatus(t, created, 201)
			refused := p.send("GET", "/v1/pets", "", "", "Origin: "+test.origin)
			expectStatus(t, refused, 401)
			for _, a := range []response{preflight, created, refused} {
				expectHeader(t, a, "Access-Control-Allow-Origin", test.allowed)
				expectHeader(t, a, "Access-Control-Allow-Credentials", "")
			}
		})
	}
}
