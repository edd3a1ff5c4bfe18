package httpapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

func TestOnlyConfiguredOriginsAreAllowed(t *testing.T) {
	t.Parallel()
	const shopOrigin = "https://shop.example.com"
	for _, c := range []struct {
		name, configured, origin, allowed string
	}{
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
	// Browsers always expose Cache-Control and decode the content themselves. X-Accel-Buffering is meant only
	// for proxies.
	read = append(read, "Cache-Control", "Content-Encoding", "X-Accel-Buffering")
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
