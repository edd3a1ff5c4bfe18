package server_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// TestMisplacedKeysAreNotExposed sends keys in headers, parameters and bodies where they do not belong. No
// key may appear in a response, the log, the metrics or the profiles.
func TestMisplacedKeysAreNotExposed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	issued := s.Key(t, shop.Admin).Secret
	webhook := s.expect(http.StatusCreated, "POST", "/v1/webhooks", `{"url":"https://example.com/hook"}`)
	signing := decode[struct{ Secret string }](t, webhook.body).Secret
	if !strings.HasPrefix(signing, "whsec_") {
		t.Fatalf("the new webhook has no signing secret: %v", webhook)
	}
	written := map[string]string{}
	for _, secret := range []string{shoptest.AdminKey, issued} {
		record := func(what string, a response) {
			written["the response to "+what] += a.body
			for name, values := range a.header {
				written["the header "+name+" of the response to "+what] += strings.Join(values, " ")
			}
		}
		for _, header := range []string{"X-Api-Key", "Api-Key", "Token", "Proxy-Authorization", "Cookie", "Referer", "User-Agent", "Origin", "Accept", "Content-Type", "Content-Encoding",
			"Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID", "Traceparent", "Tracestate", "X-Request-Id", "X-Forwarded-For"} {
			for _, to := range []string{"GET /v1/pets", "POST /v1/pets", "PATCH /v1/pets/1", "OPTIONS /v1/pets", "GET /v1/nothing", "GET /v1/events"} {
				method, path, _ := strings.Cut(to, " ")
				record(to+" with "+header, s.send(method, path, issued, `{"status":"none"}`, header+": "+secret))
			}
		}
		for _, parameter := range []string{"limit", "status", "cursor", "categoryId", "id", "petId", "after", "type"} {
			record("a parameter", s.send("GET", "/v1/events?"+parameter+"="+secret, issued, ""))
			record("a parameter", s.send("GET", "/v1/store/orders?"+parameter+"="+secret, issued, ""))
		}
		for _, member := range []string{"categoryId", "status", "petId", "overlapSeconds", "expiresAt", "scopes", "types", "url", "enabled", secret} {
			for _, path := range []string{"/v1/pets", "/v1/store/orders", "/v1/keys", "/v1/webhooks", "/v1/keys/1/rotate"} {
				body := fmt.Sprintf(`{%q:%q}`, member, secret)
				if path == "/v1/keys/1/rotate" && member != "overlapSeconds" {
					continue // without a known member in its body, this request would rotate the key
				}
				record(path+" with "+member, s.send("POST", path, issued, body))
			}
		}
		record("a body that is a key", s.send("POST", "/v1/pets", issued, secret))
		record("a password", s.send("GET", "/v1/pets", "", "", "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("me:"+secret))))
		if a, err := s.sendRaw("GET /v1/pets HTTP/1.1\r\nHost: " + secret + "x/y\r\n\r\n"); err == nil {
			record("a host", a)
		}
	}
	written["the metrics"] = s.expect(http.StatusOK, "GET", "/metrics", "").body
	written["the profiles"] = s.expect(http.StatusOK, "GET", "/debug/pprof/cmdline", "").body + s.expect(http.StatusOK, "GET", "/debug/pprof/goroutine?debug=2", "").body
	written["the events"] = s.expect(http.StatusOK, "GET", "/v1/events?limit=100", "").body
	written["the keys"] = s.expect(http.StatusOK, "GET", "/v1/keys", "").body
	written["the webhooks"] = s.expect(http.StatusOK, "GET", "/v1/webhooks", "").body + s.expect(http.StatusOK, "GET", "/v1/webhooks/1", "").body + s.expect(http.StatusOK, "GET", "/v1/webhooks/1/deliveries", "").body
	s.stop()
	written["the log"] = s.log.String()
	for where, text := range written {
		for _, secret := range []string{shoptest.AdminKey, issued, issued[9:30], signing, base64.StdEncoding.EncodeToString([]byte("me:" + issued))} {
			if strings.Contains(text, secret) {
				at := strings.Index(text, secret)
				t.Errorf("%s contains a secret: …%q…", where, text[max(0, at-50):min(len(text), at+len(secret)+50)])
			}
		}
	}
}
