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
		name    string
		origins []string
		origin  string
		allowed string
		vary    string
	}{
		{"none configured", nil, shopOrigin, "", ""},
		{"the configured one", []string{"https://other.example.com", shopOrigin}, shopOrigin, shopOrigin, "Origin"},
		{"a foreign one", []string{shopOrigin}, "https://evil.example.com", "", "Origin"},
		{"one that begins alike", []string{shopOrigin}, shopOrigin + ".evil.com", "", "Origin"},
		{"another scheme", []string{shopOrigin}, "http://shop.example.com", "", "Origin"},
		{"null", []string{shopOrigin}, "null", "", "Origin"},
		{"no browser", []string{shopOrigin}, "", "", "Origin"},
		{"any", []string{"*"}, "https://whatever.example.com", "*", "Origin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, func(config *Config) { config.Origins = c.origins })
			origin := "Origin: " + c.origin
			for _, got := range []testResponse{
				s.do("GET", "/v1/pets", "", origin),
				s.do("GET", "/v1/pets", "", origin, "Authorization: "),
				s.do("GET", "/v1/nothing", "", origin),
				s.do("OPTIONS", "/v1/pets", "", origin, "Authorization: ", "Access-Control-Request-Method: POST"),
			} {
				h := got.Header
				if h.Get("Access-Control-Allow-Origin") != c.allowed || h.Get("Vary") != c.vary {
					t.Errorf("%s: allowed is %q and Vary %q", got.Request.Method, h.Get("Access-Control-Allow-Origin"), h.Get("Vary"))
				}
				if h.Get("Access-Control-Allow-Credentials") != "" {
					t.Error("credentials are allowed")
				}
				preflight := got.Request.Method == "OPTIONS" && c.allowed != ""
				if (h.Get("Access-Control-Allow-Methods") == "GET, HEAD, OPTIONS, POST") != preflight ||
					(h.Get("Access-Control-Allow-Headers") == corsRequestHeaders) != preflight {
					t.Errorf("%s: the preflight's headers are %v", got.Request.Method, h)
				}
				if (h.Get("Access-Control-Expose-Headers") != "") != (c.allowed != "") {
					t.Errorf("%s: exposed is %q", got.Request.Method, h.Get("Access-Control-Expose-Headers"))
				}
			}
			if got := s.do("GET", "/metrics", "", origin); got.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("the metrics are open to pages")
			}
		})
	}
}

// Pages from other origins may send and read every header that the OpenAPI document mentions.
func TestPagesMayUseEveryDocumentedHeader(t *testing.T) {
	t.Parallel()
	sent, read := strings.Split(corsRequestHeaders, ", "), strings.Split(corsExposedHeaders, ", ")
	// Browsers always expose Cache-Control, and X-Accel-Buffering is meant only for proxies.
	read = append(read, "Cache-Control", "X-Accel-Buffering")
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
