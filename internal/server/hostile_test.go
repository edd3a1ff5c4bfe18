package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

const authorization = "Authorization: Bearer " + shoptest.AdminKey + "\r\n"

// TestHostileRequestsGetExpectedStatus sends requests that no client library would send. The service must
// either refuse such a request or respond as it would to the equivalent normal request.
func TestHostileRequestsGetExpectedStatus(t *testing.T) {
	t.Parallel()
	s := serve(t)
	post := "POST /v1/pets HTTP/1.1\r\nHost: x\r\n" + authorization
	const body = `{"name":"Rex","categoryId":1}`
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n", len(body), body)
	added := 0
	for _, c := range []struct {
		name, request string
		status        int
	}{
		{"huge headers", "GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Huge: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", 431},
		{"very many headers", "GET /v1/pets HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: y\r\n", 20<<10) + "\r\n", 431},
		{"a huge path", "GET /v1/" + strings.Repeat("x", 100<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431},
		{"a huge key", "GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + strings.Repeat("x", 60<<10) + "\r\n\r\n", 401},
		{"a huge query", "GET /v1/pets?q=" + strings.Repeat("x", 60<<10) + " HTTP/1.1\r\nHost: x\r\n" + authorization + "\r\n", 400},
		{"very many parameters", "GET /v1/pets?" + strings.Repeat("a&", 30<<10) + " HTTP/1.1\r\nHost: x\r\n" + authorization + "\r\n", 400},
		{"very many ids", "GET /v1/pets?" + strings.Repeat("id=1&", 10<<10) + " HTTP/1.1\r\nHost: x\r\n" + authorization + "\r\n", 400},
		{"chunks", post + "Transfer-Encoding: chunked\r\n\r\n" + chunks + "\r\n", 201},
		{"chunks and a length", post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + "\r\n", 201},
		{"chunks with a trailer", post + "Trailer: Authorization\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + "Authorization: Bearer x\r\n\r\n", 201},
		{"a key in the trailer", "POST /v1/pets HTTP/1.1\r\nHost: x\r\nTrailer: Authorization\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + authorization + "\r\n", 401},
		{"chunks with an extension", post + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x;%s\r\n", len(body), strings.Repeat("e", 1000)) + body + "\r\n0\r\n\r\n", 201},
		{"chunks with a huge extension", post + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x;%s\r\n", len(body), strings.Repeat("e", 100<<10)) + body + "\r\n0\r\n\r\n", 400},
		{"a chunk without a size", post + "Transfer-Encoding: chunked\r\n\r\n\r\n\r\n", 400},
		{"a chunk with a negative size", post + "Transfer-Encoding: chunked\r\n\r\n-1d\r\n" + body + "\r\n0\r\n\r\n", 400},
		{"a chunk with a huge size", post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n" + body, 400},
		{"a chunk longer than its size", post + "Transfer-Encoding: chunked\r\n\r\n2\r\n" + body + "\r\n0\r\n\r\n", 400},
		{"two chunked encodings", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + "\r\n", 501},
		{"chunks in another encoding", post + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunks + "\r\n", 501},
		{"an unknown encoding", post + "Transfer-Encoding: xchunked\r\n\r\n" + chunks + "\r\n", 501},
		{"two lengths", post + "Content-Length: 29\r\nContent-Length: 5\r\n\r\n" + body, 400},
		{"the same length twice", post + "Content-Length: 29\r\nContent-Length: 29\r\n\r\n" + body, 201},
		{"a length with a sign", post + "Content-Length: +29\r\n\r\n" + body, 400},
		{"a negative length", post + "Content-Length: -29\r\n\r\n" + body, 400},
		{"a huge length", post + "Content-Length: 99999999999999999999\r\n\r\n" + body, 400},
		{"a space before the colon", "GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization : Bearer " + shoptest.AdminKey + "\r\n\r\n", 400},
		{"a header without a name", "GET /v1/pets HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n", 400},
		{"a NUL in a header", "GET /v1/pets HTTP/1.1\r\nHost: x\r\nX: \x00\r\n\r\n", 400},
		{"a key on two lines", "GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer\r\n " + shoptest.AdminKey + "\r\n\r\n", 200},
		{"no host", "GET /v1/pets HTTP/1.1\r\n" + authorization + "\r\n", 400},
		{"two hosts", "GET /v1/pets HTTP/1.1\r\nHost: x\r\nHost: y\r\n" + authorization + "\r\n", 400},
		{"an invalid host", "GET /v1/pets HTTP/1.1\r\nHost: a b<c\r\n" + authorization + "\r\n", 400},
		{"an unknown version", "GET /v1/pets HTTP/9.9\r\nHost: x\r\n\r\n", 505},
		{"HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 404},
		{"no version", "GET /v1/pets\r\n\r\n", 400},
		{"an invalid method", "G\x01T /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		{"a tunnel", "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n", 404},
		{"an unknown expectation", post + "Expect: miracles\r\nContent-Length: 29\r\n\r\n" + body, 417},
		{"another protocol", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
		{"an upgrade", "GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n" + authorization + "\r\n", 200},
	} {
		a, err := s.sendRaw(c.request)
		if err != nil || a.status != c.status {
			t.Errorf("%s: got %v, %v, want status %d", c.name, a, err, c.status)
		}
		if a.status == http.StatusCreated {
			added++
		}
	}
	if got := s.countPets(); got != added {
		t.Errorf("animals: got %d, want %d", got, added)
	}
	s.expectPlainLog()
}

// TestPipelinedResponsesComeInOrder sends many requests before it reads the first response.
func TestPipelinedResponsesComeInOrder(t *testing.T) {
	t.Parallel()
	s := serve(t)
	connection, responses := s.dial()
	const each = 40
	var all strings.Builder
	for i := range each {
		body := fmt.Sprintf(`{"name":"Rex %d","categoryId":1}`, i)
		fmt.Fprintf(&all, "POST /v1/pets HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", authorization, len(body), body)
		fmt.Fprintf(&all, "GET /v1/pets?limit=1 HTTP/1.1\r\nHost: x\r\n%s\r\n", authorization)
		fmt.Fprintf(&all, "GET /v1/nothing HTTP/1.1\r\nHost: x\r\n%s\r\n", authorization)
	}
	if _, err := io.WriteString(connection, all.String()); err != nil {
		t.Fatal(err)
	}
	for i := range each {
		for _, status := range []int{201, 200, 404} {
			a, err := receive(responses)
			if err != nil || a.status != status {
				t.Fatalf("response %d: got %v, %v, want status %d", i, a, err, status)
			}
			if name := fmt.Sprintf(`"Rex %d"`, i); status != 404 && !strings.Contains(a.body, name) {
				t.Fatalf("response %d: got %v, want %s", i, a, name)
			}
		}
	}
}

// TestHostileBodiesAreRefused sends deeply nested JSON, very long JSON, malformed JSON and huge numbers to
// every operation that accepts a body.
func TestHostileBodiesAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	const maxBody = 64 << 10
	bodies := []string{
		strings.Repeat("[", maxBody), strings.Repeat(`{"a":`, maxBody/5), strings.Repeat("[", maxBody/2) + strings.Repeat("]", maxBody/2),
		`{"name":` + strings.Repeat("[", maxBody/2-10) + strings.Repeat("]", maxBody/2-10) + `}`,
		`{"petId":` + strings.Repeat("9", maxBody-20) + `}`, `{"categoryId":1` + strings.Repeat("0", maxBody-20) + `}`, `{"categoryId":0.` + strings.Repeat("0", maxBody-30) + `1}`,
		`{"petId":1e999999999}`, `{"petId":-1e-999999999}`, `{"overlapSeconds":1e308}`, `{"overlapSeconds":1e18446744073709551616}`, `{"petId":1E+0000000000000000000000000000001}`,
		`{"name":"` + strings.Repeat(`\u0000`, maxBody/8) + `"}`, `{"name":"` + strings.Repeat(`\\`, maxBody/4) + `"}`, `{"scopes":[` + strings.Repeat(`"admin",`, maxBody/10) + `"admin"]}`,
		`{"types":[` + strings.Repeat(`null,`, maxBody/10) + `null]}`, `{` + strings.Repeat(`"a":1,`, maxBody/8) + `"b":1}`, `{"url":"` + strings.Repeat("x", maxBody-20) + `"}`,
		`{"__proto__":{"admin":true},"constructor":null}`, `{"$where":"sleep(1000)"}`, `{"name":{"$gt":""}}`, "\x00", "{\"name\":\"\xc0\xaf\"}", `{"name":"\ud800\ud800"}`,
	}
	for _, to := range []string{"POST /v1/pets", "PATCH /v1/pets/1", "POST /v1/categories", "PUT /v1/categories/1", "POST /v1/store/orders",
		"PATCH /v1/store/orders/1", "POST /v1/keys", "POST /v1/keys/1/rotate", "POST /v1/webhooks", "PATCH /v1/webhooks/1", "POST /v1/webhooks/1/rotate"} {
		method, path, _ := strings.Cut(to, " ")
		for _, body := range bodies {
			a := s.send(method, path, shoptest.AdminKey, body)
			// A patch without known members succeeds but changes nothing.
			patched := method == "PATCH" && a.status == http.StatusOK
			if !patched && a.status != http.StatusBadRequest && a.status != http.StatusNotFound && a.status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s %.60q: got %v, want status 400, 404 or 413", to, body, a)
			}
			if !json.Valid([]byte(a.body)) || len(a.body) > 2000 {
				t.Errorf("%s %.60q: got a response of %d bytes, want JSON of at most 2000: %.200s", to, body, len(a.body), a.body)
			}
		}
	}
	if pet, err := s.Pet(t.Context(), 1); err != nil || pet.Name != "Rex" || s.countPets() != 1 {
		t.Errorf("animals: got %d and %+v, %v, want only Rex", s.countPets(), pet, err)
	}
	s.expectPlainLog()
}

// hostile contains strings that careless programs misinterpret.
var hostile = []string{
	"", " ", "'", "' OR 1=1 --", "1; DROP TABLE pets", `"`, `\`, "%", "%00", "%zz", "%0d%0aSet-Cookie: a=b", "<script>alert(1)</script>", "${jndi:ldap://x/a}", "{{7*7}}",
	"../../../../etc/passwd", "-1", "0", "1e309", "NaN", "Infinity", "9223372036854775808", "null", "true", "[]", "{}", "*", "W/\"x\"", "\"x", ",,,,", ";;;;", "a=b;c=d",
	"\u202egnp", "é", "\xff\xfe", strings.Repeat("A", 5000), strings.Repeat("a,", 2000), "time=x level=FAKE msg=fake", "Bearer", "bytes=0-1", "gzip, br", "text/event-stream;q=",
}

// TestHostileHeadersAndParametersCauseNoServerError sends each hostile string in every header and parameter
// that the service reads. No response may be a server error, and no string may forge a log line.
func TestHostileHeadersAndParametersCauseNoServerError(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	check := func(what string, a response, err error) {
		t.Helper()
		if err != nil || a.status >= 500 && a.status != http.StatusNotImplemented {
			t.Errorf("%s: got %v, %v, want no server error", what, a, err)
		}
		// The staff pages show errors as HTML.
		isPage := strings.HasPrefix(a.header.Get("Content-Type"), "text/html")
		if a.status >= 400 && a.header.Get("X-Request-Id") != "" && !isPage && !json.Valid([]byte(a.body)) {
			t.Errorf("%s: got %v, want a JSON error", what, a)
		}
	}
	headers := []string{"Authorization", "Accept", "Accept-Encoding", "Content-Type", "Content-Encoding", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID", "Traceparent",
		"Tracestate", "Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers", "Host", "X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "X-Request-Id", "Range", "User-Agent", "Cookie",
		"X-HTTP-Method-Override", "Expect", "Connection", "TE", "Upgrade", "Via"}
	for _, to := range []string{"GET /v1/pets", "OPTIONS /v1/pets", "POST /v1/pets"} {
		for _, header := range headers {
			for _, text := range hostile {
				key := authorization
				if header == "Authorization" {
					key = ""
				}
				host := "Host: x\r\n"
				if header == "Host" {
					host = ""
				}
				a, err := s.sendRaw(fmt.Sprintf("%s HTTP/1.1\r\n%s%s%s: %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", to, host, key, header, text))
				check(fmt.Sprintf("%s with %s: %.40q", to, header, text), a, err)
			}
		}
	}
	parameters := []string{"limit", "status", "cursor", "categoryId", "q", "id", "petId", "after", "type", "subject", "dryRun", "x"}
	for _, path := range []string{"/v1/pets", "/v1/categories", "/v1/store/orders", "/v1/events", "/v1/keys", "/v1/webhooks", "/v1/webhooks/1/deliveries", "/v1/store/inventory", "/v1/pets/1"} {
		for _, parameter := range parameters {
			for _, text := range hostile {
				query := url.Values{parameter: {text}}.Encode()
				check(path+"?"+query, s.send("GET", path+"?"+query, shoptest.AdminKey, ""), nil)
			}
		}
	}
	for _, text := range hostile {
		for _, query := range []string{"status[]=" + url.QueryEscape(text), url.QueryEscape(text) + "=1"} {
			check("/v1/pets?"+query, s.send("GET", "/v1/pets?"+query, shoptest.AdminKey, ""), nil)
		}
	}
	for _, path := range []string{"/v1/pets/%s", "/v1/categories/%s", "/v1/keys/%s/rotate", "/v1/webhooks/%s/deliveries/%s/redeliver", "/v1/%s", "/%s", "/debug/pprof/%s"} {
		for _, text := range hostile {
			check(path+" "+text, s.send("DELETE", strings.ReplaceAll(path, "%s", url.PathEscape(text)), shoptest.AdminKey, ""), nil)
		}
	}
	s.expectPlainLog()
}

// TestHostileNamesDoNotCorruptLogOrMetrics creates keys with hostile names and sends requests that write
// these names to the log and the metrics.
func TestHostileNamesDoNotCorruptLogOrMetrics(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, name := range []string{"<script>alert(1)</script>", `" level=FAKE msg="fake`, "\u202egnp.exe", "\u0085\u2028\u2029", "{{.}}", "=cmd|' /C calc'!A0", "\U000e0041", "a\u00a0b"} {
		body, err := json.Marshal(map[string]any{"name": name, "scopes": []string{"pets:read"}})
		if err != nil {
			t.Fatal(err)
		}
		key := decode[struct{ Key string }](t, s.expect(http.StatusCreated, "POST", "/v1/keys", string(body)).body).Key
		// This operation is deprecated, so the metrics count its requests by key ID and key name.
		s.send("GET", "/v1/pets/1", key, "")
		s.send("GET", "/v1/pets?q="+url.QueryEscape(name), key, "", "User-Agent: "+name)
	}
	for line := range strings.Lines(s.expect(http.StatusOK, "GET", "/metrics", "").body) {
		if !strings.HasPrefix(line, "#") && !metricLine.MatchString(line) {
			t.Errorf("corrupt line in the metrics: %q", line)
		}
	}
	s.expectPlainLog()
}

var metricLine = regexp.MustCompile(`^[a-z_]+(\{([a-z_]+="([^"\\\n]|\\[\\n"])*",?)*\})? \S+\n$`)

// Clients cannot create new time series by sending unusual requests, which would exhaust the memory of the
// service and of Prometheus.
func TestUnusualRequestsCreateNoTimeSeries(t *testing.T) {
	t.Parallel()
	s := serve(t)
	series := func() int {
		return strings.Count(s.expect(http.StatusOK, "GET", "/metrics", "").body, "\nanimalstore_http_requests_total{")
	}
	s.send("GET", "/v1/nothing", shoptest.AdminKey, "")
	s.send("BREW", "/v1/pets", shoptest.AdminKey, "")
	series() // counts itself only afterwards
	before := series()
	for i := range 20 {
		s.send("GET", "/v1/nothing/"+strings.Repeat("x", i+1), shoptest.AdminKey, "")
		s.send("GET", "/v1/pets/<script>", shoptest.AdminKey, "")
		s.send("BREW"+strings.Repeat("X", i), "/v1/pets", shoptest.AdminKey, "")
	}
	if after := series(); after > before+1 { // the invalid ID may be the first of its kind
		t.Errorf("time series: got %d before and %d after unusual requests, want at most one more", before, after)
	}
	if strings.Contains(s.expect(http.StatusOK, "GET", "/metrics", "").body, "<script") {
		t.Error("the metrics contain a path that a client sent")
	}
}

// expectPlainLog stops the service and checks that every log line has the service's own format and contains
// no control characters.
func (s *service) expectPlainLog() {
	s.t.Helper()
	s.stop()
	for line := range strings.Lines(s.log.String()) {
		if !strings.HasPrefix(line, "time=") || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool {
			return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u202e'
		}) {
			s.t.Errorf("corrupt line in the log: %q", line)
		}
	}
}
