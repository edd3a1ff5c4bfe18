package httpapi

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// Malformed messages, wrong methods and wrong headers get an error response and cause no server error.
func TestHostileMessagesAreRefused(t *testing.T) {
	s := parallelShop(t)
	s.do("POST", mcpPath, listTools, acceptMCP, "Authorization: ").wantError(t, 401, shop.MissingAPIKey).wantHeaders(t, "WWW-Authenticate: "+realm)
	s.do("POST", mcpPath, listTools, acceptMCP, bearing("wrong")).wantError(t, 401, shop.InvalidAPIKey)
	for _, method := range []string{"GET", "DELETE", "PUT", "HEAD"} {
		s.do(method, mcpPath, "", "Accept: text/event-stream").wantError(t, 405, shop.MethodNotAllowed).wantHeaders(t, "Allow: OPTIONS, POST")
	}
	for _, header := range []string{"Accept: application/json", "Accept: text/html", "Mcp-Protocol-Version: 1999-01-01", "Last-Event-Id: 1"} {
		s.do("POST", mcpPath, listTools, acceptMCP, header).wantError(t, 400, shop.InvalidParameter)
	}
	s.do("POST", mcpPath, listTools, acceptMCP, "Content-Type: text/plain").wantError(t, 415, shop.UnsupportedMediaType)
	s.do("POST", mcpPath, listTools, acceptMCP, "Content-Type: ").want(t, 200, "") // Content-Type is optional
	s.do("POST", mcpPath, toolCall("find_animals", `{"text":"`+strings.Repeat("x", maxBodyBytes)+`"}`), acceptMCP).wantError(t, 413, shop.PayloadTooLarge)
	for body, code := range map[string]shop.Code{
		"": shop.InvalidJSON, "[]": shop.InvalidJSON, "[" + listTools + "]": shop.InvalidJSON, " [" + listTools + "," + listTools + "]": shop.InvalidJSON,
		"null": shop.InvalidJSON, "1": shop.InvalidJSON, "\xff": shop.InvalidJSON,
		"{": shop.InvalidJSON, listTools + listTools: shop.InvalidJSON, "\ufeff" + listTools: shop.InvalidJSON,
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`: shop.InvalidJSON, "{}": shop.InvalidParameter,
		`{"jsonrpc":"2.0","id":1,"method":"nonsense"}`:                          shop.InvalidParameter,
		`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("n", 9999) + `"}`: shop.InvalidParameter,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`:                        shop.InvalidParameter,
		`{"jsonrpc":"1.0","id":1,"method":"tools/list"}`:                        shop.InvalidParameter,
		`{"jsonrpc":"2.0","id":{},"method":"tools/list"}`:                       shop.InvalidParameter,
	} {
		got := s.do("POST", mcpPath, body, acceptMCP)
		if got.StatusCode != 400 {
			t.Fatalf("%s: got %d", body, got.StatusCode)
		}
		got.wantError(t, 400, code)
		if len(got.body) > 600 {
			t.Errorf("the error for a message of %d bytes has %d", len(body), len(got.body))
		}
	}
	for body, want := range map[string]string{
		toolCall("nonsense", "{}"):                                                                 `"code":-32602`,
		toolCall("find_animals", "[]"):                                                             `"isError":true`,
		toolCall("find_animals", `"x"`):                                                            `"isError":true`,
		toolCall("find_animals", "null"):                                                           `"structuredContent":{"animals":[]}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`:                       `"error":`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_animals"}}`:          `"structuredContent":{"animals":[]}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`:                   `"error":`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`: `"error":`,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`:          `"id":1`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999-01-01"}}`: `"protocolVersion":"20`,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}`:   `"id":1`,
	} {
		got := s.do("POST", mcpPath, body, acceptMCP)
		if got.StatusCode != 200 || !strings.Contains(string(got.body), want) {
			t.Errorf("%s: got %d %s, want %s", body, got.StatusCode, got.body, want)
		}
	}
	s.do("POST", mcpPath, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, acceptMCP).want(t, 202, "")
	s.do("POST", mcpPath, `{"jsonrpc":"2.0","id":1,"result":{}}`, acceptMCP).want(t, 202, "")
	if strings.Contains(s.log.String(), "level=ERROR") {
		t.Errorf("the log reports a fault: %s", s.log)
	}
}

// Web pages of other sites cannot use the endpoint, even if they bypass the same-origin policy by DNS rebinding.
func TestAssistantsOriginIsChecked(t *testing.T) {
	s := parallelShop(t, func(c *Config) {
		c.Origins, c.PublicURL = []string{"https://inspector.example"}, "https://pets.example/shop/v1"
	})
	for _, origin := range []string{"https://evil.example", "null", "http://localhost:6274", "http://127.0.0.1:1", "http://pets.example", "://"} {
		got := s.do("POST", mcpPath, listTools, acceptMCP, "Origin: "+origin).want(t, 403, "")
		if !strings.Contains(string(got.body), "--cors-origin") {
			t.Errorf("%s: %s", origin, got.body)
		}
		got.wantHeaders(t, "Access-Control-Allow-Origin: ")
	}
	for _, own := range []string{s.url, "https://pets.example"} {
		s.do("POST", mcpPath, listTools, acceptMCP, "Origin: "+own).want(t, 200, "").wantHeaders(t, "Access-Control-Allow-Origin: ")
	}
	// After DNS rebinding, the name of the attacker's site leads to this service, so the browser sends that name both
	// as the origin and as the host.
	rebound := shoptest.Must(http.NewRequest("POST", s.url+mcpPath, strings.NewReader(listTools)))(t)
	rebound.Host = "evil.example:8080"
	rebound.Header = http.Header{"Authorization": {"Bearer " + adminKey}, "Accept": {"*/*"}, "Origin": {"http://evil.example:8080"}}
	shoptest.Must(s.send(rebound))(t).want(t, 403, "")
	s.do("POST", mcpPath, listTools, acceptMCP, "Origin: https://inspector.example").want(t, 200, "").
		wantHeaders(t, "Access-Control-Allow-Origin: https://inspector.example")
	preflight := s.do("OPTIONS", mcpPath, "", "Origin: https://inspector.example", "Access-Control-Request-Method: POST", "Authorization: ").want(t, 204, "")
	preflight.wantHeaders(t, "Access-Control-Allow-Methods: OPTIONS, POST", "Access-Control-Allow-Headers: "+corsRequestHeaders+mcpRequestHeaders)
}

// No message causes a server error.
func FuzzMCPMessage(f *testing.F) {
	shop := shoptest.Open(f, shoptest.Options{})
	api, err := New(Config{Service: shop.Service, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	fuzzBody(f, func(t *testing.T, body []byte) {
		r := httptest.NewRequest("POST", mcpPath, bytes.NewReader(body))
		r.Header = http.Header{"Authorization": {"Bearer " + adminKey}, "Accept": {"*/*"}}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
	}, toolCall("find_animals", `{"limit":1}`), toolCall("get_animal", `{"id":1}`),
		toolCall("add_animal", `{"name":"Rex","categoryId":1,"idempotencyKey":"12345678"}`),
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":null,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
}
