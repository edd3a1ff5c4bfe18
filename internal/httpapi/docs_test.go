package httpapi

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// The documentation is available without an API key.
func TestDocsAreServed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for path, want := range map[string]string{
		"/docs":                        "text/html; charset=utf-8",
		"/docs/guides":                 "text/html; charset=utf-8",
		"/docs/docs.css":               "text/css; charset=utf-8",
		"/docs/docs.js":                "text/javascript; charset=utf-8",
		"/docs/swagger-ui-bundle.js":   "text/javascript; charset=utf-8",
		"/docs/swagger-ui.css":         "text/css; charset=utf-8",
		"/docs/swagger-ui.LICENSE.txt": "text/plain; charset=utf-8",
	} {
		got := s.do("GET", path, "", "Authorization: ")
		if got.StatusCode != 200 || got.Header.Get("Content-Type") != want || len(got.body) == 0 {
			t.Errorf("%s: %d, a %s of %d bytes, want a %s", path, got.StatusCode, got.Header.Get("Content-Type"), len(got.body), want)
		}
		if again := s.do("GET", path, "", "If-None-Match: "+got.Header.Get("ETag")); again.StatusCode != 304 {
			t.Errorf("%s: %d for the same again, want 304", path, again.StatusCode)
		}
	}
	for _, path := range []string{"/docs/", "/docs/nothing", "/docs/README.md", "/docs/reference.html", "/docs/..%2fopenapi.yaml", "/docs/guides/more"} {
		s.do("GET", path, "").wantError(t, 404, shop.NotFound)
	}
}

// The documentation pages run only scripts from this server and send requests only to the servers listed
// in the OpenAPI document.
func TestDocsPagesRunOnlyOwnScripts(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *Config) {
		c.PublicURL, c.StagingURL = "https://pets.example.com/shop/v1", "https://staging.example.com:8443/v1"
	})
	for _, path := range []string{"/docs", "/docs/guides"} {
		got := s.do("GET", path, "")
		policy := got.Header.Get("Content-Security-Policy")
		for _, want := range []string{
			"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'",
			"connect-src 'self' https://pets.example.com https://staging.example.com:8443;",
		} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q lacks %q", path, policy, want)
			}
		}
		if inline := regexp.MustCompile(`(?i)<script(?: [^>]*)?>[^<]|<style|\son[a-z]+=|\sstyle=|(?:src|href)="/`).FindString(string(got.body)); inline != "" {
			t.Errorf("%s has %q", path, inline)
		}
	}
	if guides := s.do("GET", "/docs/guides", ""); !strings.Contains(string(guides.body), "https://pets.example.com/shop/v1/pets") {
		t.Error("the examples do not use the public URL")
	}
}

func TestGuidesExplainEveryErrorCode(t *testing.T) {
	t.Parallel()
	guides := string(newShop(t).do("GET", "/docs/guides", "").body)
	for code, status := range web.Status {
		if row := fmt.Sprintf("<td><code>%s</code></td><td>%d</td><td>%c", code, status, advice[code][0]); !strings.Contains(guides, row) {
			t.Errorf("the guides do not explain %s", code)
		}
	}
	for code := range advice {
		if web.Status[code] == 0 {
			t.Errorf("there is no error %s", code)
		}
	}
	if !strings.Contains(guides, "(72 hours here)") {
		t.Error("the guides do not say how long an order holds its animal here")
	}
	if strings.Contains(guides, "Staging") {
		t.Error("a production shop claims to be staging")
	}
}

func TestHumanDuration(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{"72 hours": 72 * time.Hour, "1h0m0s": time.Hour, "90ms": 90 * time.Millisecond, "1h30m0s": 90 * time.Minute} {
		if got := humanDuration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
