package httpapi

import (
	"fmt"
	"io"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// The documentation is available without an API key.
func TestDocsAreServed(t *testing.T) {
	s := parallelShop(t)
	for path, want := range map[string]string{
		"/docs": "text/html", "/docs/guides": "text/html", "/docs/guides/pages": "text/html",
		"/docs/docs.css": "text/css", "/docs/docs.js": "text/javascript", "/docs/theme.js": "text/javascript",
	} {
		got := s.do("GET", path, "", "Authorization: ", "Accept-Encoding: identity").want(t, 200, "")
		got.wantHeaders(t, "Content-Type: "+want+"; charset=utf-8")
		s.do("GET", path, "", "Accept-Encoding: identity", "If-None-Match: "+got.Header.Get("ETag")).want(t, 304, "")
		small := s.do("GET", path, "", "Accept-Encoding: gzip").want(t, 200, "")
		small.wantHeaders(t, "Content-Encoding: gzip", "Vary: Accept-Encoding", "Cache-Control: no-cache")
		if len(small.body) >= len(got.body) || small.Header.Get("ETag") == got.Header.Get("ETag") {
			t.Errorf("%s: gzip sends %d instead of %d bytes, with the tag %s", path, len(small.body), len(got.body), small.Header.Get("ETag"))
		}
		s.do("GET", path, "", "Accept-Encoding: gzip", "If-None-Match: "+small.Header.Get("ETag")).want(t, 304, "")
	}
	for _, path := range []string{"/docs/", "/docs/nothing", "/docs/reference.html", "/docs/..%2fopenapi.yaml", "/docs/guides/", "/docs/guides/more", "/docs/guides%2fpages", "/docs/guides/pages/more"} {
		s.do("GET", path, "").wantError(t, 404, shop.NotFound)
	}
}

// The documentation pages run only their own scripts and send requests only to the servers in the OpenAPI document.
func TestDocsPagesRunOnlyOwnScripts(t *testing.T) {
	s := parallelShop(t, func(c *Config) {
		c.PublicURL, c.StagingURL = "https://pets.example.com/shop/v1", "https://staging.example.com:8443/v1"
	})
	inline := regexp.MustCompile(`(?i)<script(?: [^>]*)?>[^<]|<style|<[a-z][^>]*\s(?:on[a-z]+|style)=|(?:src|href)="/`)
	const base = `<span class="fill-base">https://pets.example.com/shop/v1</span>/pets`
	for path, own := range map[string]string{"/docs": base, "/docs/guides": "../docs/docs.js", "/docs/guides/pages": base} {
		got := s.do("GET", path, "")
		got.wantHeaders(t, "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "+
			"connect-src 'self' https://pets.example.com https://staging.example.com:8443; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		if found := inline.FindString(string(got.body)); found != "" || !strings.Contains(string(got.body), own) {
			t.Errorf("%s has %q, or lacks %s", path, found, own)
		}
	}
}

func TestGuidesExplainEveryErrorCode(t *testing.T) {
	t.Parallel()
	guide := string(newShop(t).do("GET", "/docs/guides/errors", "").body)
	for code, status := range web.Status {
		if row := fmt.Sprintf("<td><code>%s</code></td>\n<td>%d</td>\n<td>", code, status); !strings.Contains(guide, row) {
			t.Errorf("the guide does not explain %s with the status %d", code, status)
		}
	}
	if got := strings.Count(guide, "<td><code>"); got != len(web.Status) {
		t.Errorf("the guide explains %d errors, want %d", got, len(web.Status))
	}
}

// slowClient accepts headers but not a single byte of the body before release is closed.
type slowClient struct {
	*httptest.ResponseRecorder
	blocked func()
	release <-chan struct{}
}

func (c slowClient) Write([]byte) (int, error) {
	c.blocked()
	<-c.release
	return 0, io.ErrClosedPipe
}

// Clients without a key cost little memory, even if they do not read their responses. Each client sends a different
// Host header, so that no document comes from the cache.
func TestSlowClientsWithoutAKeyNeedLittleMemory(t *testing.T) {
	const clients, perClient = 300, 64 << 10
	s := newShop(t)
	for _, path := range []string{"/docs", "/v1/openapi.json", "/v1/openapi.yaml"} {
		var blocked, ended sync.WaitGroup
		release := make(chan struct{})
		blocked.Add(clients)
		before := heapInUse()
		for i := range clients {
			r := httptest.NewRequest("GET", path, nil)
			r.Host = fmt.Sprintf("host-%d.example", i)
			ended.Go(func() {
				defer func() { recover() }() // the handler panics to abort the response
				s.api.ServeHTTP(slowClient{httptest.NewRecorder(), sync.OnceFunc(blocked.Done), release}, r)
			})
		}
		blocked.Wait()
		if used := heapInUse() - before; used > clients*perClient {
			t.Errorf("%s: %d clients that do not read use %d bytes, want at most %d each", path, clients, used, perClient)
		}
		close(release)
		ended.Wait()
	}
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
