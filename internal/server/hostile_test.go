package server_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/programtest"
	"animalstore/internal/shop"
)

const authorization = "Authorization: Bearer " + programtest.AdminKey + "\r\n"

// The service either refuses a request that no client library would send, or handles it like the equivalent normal
// request.
func TestHostileRequestsGetExpectedStatus(t *testing.T) {
	t.Parallel()
	s := serve(t)
	const (
		get  = "GET /v1/pets HTTP/1.1\r\nHost: x\r\n"
		bare = "POST /v1/pets HTTP/1.1\r\nHost: x\r\n"
		post = bare + authorization
		te   = "Transfer-Encoding: chunked\r\n"
		body = `{"name":"Rex","categoryId":1}`
	)
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n", len(body), body)
	added := 0
	for _, c := range []struct {
		name, request string
		status        int
	}{
		{"huge headers", get + "X-Huge: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", 401},
		{"a huge path", "GET /v1/" + strings.Repeat("x", 100<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", 413},
		{"a huge key", get + "Authorization: Bearer " + strings.Repeat("x", 15<<10) + "\r\n\r\n", 401},
		{"very many parameters", strings.Replace(get, "pets", "pets?"+strings.Repeat("&", 15<<10), 1) + authorization + "\r\n", 400},
		{"chunks and a length", post + "Content-Length: 3\r\n" + te + "\r\n" + chunks + "\r\n", 201},
		{"a key in the trailer", bare + "Trailer: Authorization\r\n" + te + "\r\n" + chunks + authorization + "\r\n", 401},
		{"chunks with a huge extension", post + te + "\r\n1d;" + strings.Repeat("e", 100<<10) + "\r\n" + body + "\r\n0\r\n\r\n", 400},
		{"a chunk longer than its size", post + te + "\r\n2\r\n" + body + "\r\n0\r\n\r\n", 400},
		{"two chunked encodings", post + te + te + "\r\n" + chunks + "\r\n", 400},
		{"two lengths", post + "Content-Length: 29\r\nContent-Length: 5\r\n\r\n" + body, 400},
		{"a space before the colon", get + "Authorization : Bearer " + programtest.AdminKey + "\r\n\r\n", 401},
		{"a key on two lines", get + "Authorization: Bearer\r\n " + programtest.AdminKey + "\r\n\r\n", 200},
		{"no host", "GET /v1/pets HTTP/1.1\r\n" + authorization + "\r\n", 400},
		{"two hosts", get + "Host: y\r\n" + authorization + "\r\n", 400},
		{"an unknown version", "GET /v1/pets HTTP/9.9\r\nHost: x\r\n\r\n", 400},
		{"HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 404},
		{"a tunnel", "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n", 404},
		{"an unknown expectation", post + "Expect: miracles\r\nContent-Length: 29\r\n\r\n" + body, 400},
		{"an upgrade", get + "Connection: Upgrade\r\nUpgrade: h2c\r\n" + authorization + "\r\n", 200},
	} {
		a, err := s.sendRaw(c.request)
		if err != nil || a.Status != c.status {
			t.Errorf("%s: got %v, %v, want status %d", c.name, a, err, c.status)
		}
		if a.Status == http.StatusCreated {
			added++
		}
	}
	if got := len(s.Walk()); got != added {
		t.Errorf("animals: got %d, want %d", got, added)
	}
	s.expectPlainLog()
}

func TestPipelinedResponsesComeInOrder(t *testing.T) {
	t.Parallel()
	s := serve(t)
	connection := dial(t, s.addr)
	responses := bufio.NewReader(connection)
	const each = 40
	var all strings.Builder
	for i := range each {
		body := fmt.Sprintf(`{"name":"Rex %d","categoryId":1}`, i)
		fmt.Fprintf(&all, "POST /v1/pets HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", authorization, len(body), body)
		fmt.Fprintf(&all, "GET /v1/pets?limit=1 HTTP/1.1\r\nHost: x\r\n%s\r\n", authorization)
		fmt.Fprintf(&all, "GET /v1/nothing HTTP/1.1\r\nHost: x\r\n%s\r\n", authorization)
	}
	io.WriteString(connection, all.String())
	for i := range each {
		for _, status := range []int{201, 200, 404} {
			a, err := receive(responses)
			if err != nil || a.Status != status {
				t.Fatalf("response %d: got %v, %v, want status %d", i, a, err, status)
			}
			if name := fmt.Sprintf(`"Rex %d"`, i); status != 404 && !strings.Contains(a.Body, name) {
				t.Fatalf("response %d: got %v, want %s", i, a, name)
			}
		}
	}
}

// Every operation refuses deeply nested, very long and malformed JSON and huge numbers.
func TestHostileBodiesAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	const maxBody = 64 << 10
	long := func(text string, bytes int) string { return strings.Repeat(text, bytes/len(text)) }
	bodies := []string{
		long("[", maxBody), long(`{"a":`, maxBody), `{"name":` + long("[", maxBody/2-10) + long("]", maxBody/2-10) + `}`,
		`{"petId":` + long("9", maxBody-20) + `}`, `{"categoryId":0.` + long("0", maxBody-30) + `1}`,
		`{"petId":1e999999999}`, `{"petId":-1e-999999999}`, `{"overlapSeconds":1e308}`, `{"petId":1E+0000000000000000000000000000001}`,
		`{"name":"` + long(`\u0000`, maxBody-20) + `"}`, `{"name":"` + long(`\\`, maxBody-20) + `"}`,
		`{"url":"` + long("x", maxBody-20) + `"}`, `{"scopes":[` + long(`"admin",`, maxBody-30) + `"admin"]}`,
		`{"types":[` + long(`null,`, maxBody-30) + `null]}`, `{` + long(`"a":1,`, maxBody-20) + `"b":1}`, `{"name":{"$gt":""}}`,
		`{"__proto__":{"admin":true},"constructor":null}`, "\x00", "{\"name\":\"\xc0\xaf\"}", `{"name":"\ud800\ud800"}`,
	}
	for _, to := range []string{"POST /v1/pets", "PATCH /v1/pets/1", "POST /v1/categories", "PUT /v1/categories/1", "POST /v1/store/orders",
		"PATCH /v1/store/orders/1", "POST /v1/keys", "POST /v1/keys/1/rotate", "POST /v1/webhooks", "PATCH /v1/webhooks/1", "POST /v1/webhooks/1/rotate"} {
		method, path, _ := strings.Cut(to, " ")
		want := []int{400, 404, 413}
		if method == "PATCH" {
			want = append(want, 200) // a patch without known members succeeds but changes nothing
		}
		for _, body := range bodies {
			a := s.Send(method, path, programtest.AdminKey, body)
			if !slices.Contains(want, a.Status) {
				t.Errorf("%s %.60q: got %v, want a status of %d", to, body, a, want)
			}
			if !json.Valid([]byte(a.Body)) || len(a.Body) > 2000 {
				t.Errorf("%s %.60q: got a response of %d bytes, want JSON of at most 2000: %.200s", to, body, len(a.Body), a.Body)
			}
		}
	}
	if pets := s.Walk(); len(pets) != 1 || pets[0].Name != "Rex" {
		t.Errorf("animals: got %+v, want only Rex", pets)
	}
	s.expectPlainLog()
}

// hostile contains strings that careless programs misinterpret.
var hostile = []string{
	"", " ", "'", "' OR 1=1 --", "1; DROP TABLE pets", `"`, `\`, "%", "%00", "%zz", "%0d%0aSet-Cookie: a=b", "<script>alert(1)</script>", "${jndi:ldap://x/a}", "{{7*7}}",
	"../../../../etc/passwd", "-1", "0", "1e309", "NaN", "Infinity", "9223372036854775808", "null", "true", "[]", "{}", "*", "W/\"x\"", "\"x", ",,,,", ";;;;", "a=b;c=d",
	"\u202egnp", "é", "\xff\xfe", strings.Repeat("A", 5000), strings.Repeat("a,", 2000), "time=x level=FAKE msg=fake", "Bearer", "bytes=0-1", "gzip, br", "text/event-stream;q=",
}

// No hostile string in a header or parameter that the service reads causes a server error or forges a log line.
func TestHostileHeadersAndParametersCauseNoServerError(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	check := func(what string, a programtest.Response, err error) {
		if err != nil || a.Status >= 500 && a.Status != http.StatusNotImplemented {
			t.Errorf("%s: got %v, %v, want no server error", what, a, err)
		}
		if a.Status >= 400 && a.Header.Get("X-Request-Id") != "" && !json.Valid([]byte(a.Body)) {
			t.Errorf("%s: got %v, want a JSON error", what, a)
		}
	}
	for _, header := range []string{"Authorization", "Accept", "Accept-Encoding", "Content-Type", "Content-Encoding",
		"Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID", "Traceparent", "Tracestate", "Origin", "Host",
		"Access-Control-Request-Method", "Access-Control-Request-Headers", "X-Forwarded-For", "X-Request-Id", "User-Agent", "Cookie",
		"Range", "Expect", "Connection"} {
		for _, text := range hostile {
			var head strings.Builder
			for name, value := range map[string]string{"Host": "x", "Authorization": "Bearer " + programtest.AdminKey, header: text} {
				fmt.Fprintf(&head, "%s: %s\r\n", name, value)
			}
			for _, to := range []string{"GET /v1/pets", "OPTIONS /v1/pets", "POST /v1/pets"} {
				a, err := s.sendRaw(to + " HTTP/1.1\r\n" + head.String() + "Content-Length: 2\r\nConnection: close\r\n\r\n{}")
				check(fmt.Sprintf("%s with %s: %.40q", to, header, text), a, err)
			}
		}
	}
	parameters := []string{"limit", "status", "cursor", "categoryId", "q", "id", "petId", "after", "type", "subject", "dryRun", "x"}
	for _, text := range hostile {
		targets := []string{"GET /v1/pets?" + url.QueryEscape(text) + "=1"}
		for _, path := range []string{"pets", "store/orders", "events", "keys", "webhooks", "webhooks/1/deliveries", "pets/1"} {
			for _, parameter := range parameters {
				targets = append(targets, "GET /v1/"+path+"?"+url.Values{parameter: {text}}.Encode())
			}
		}
		for _, path := range []string{"/v1/pets/", "/v1/categories/", "/v1/keys/", "/v1/webhooks/1/deliveries/", "/v1/", "/"} {
			targets = append(targets, "DELETE "+path+url.PathEscape(text))
		}
		for _, target := range targets {
			method, path, _ := strings.Cut(target, " ")
			check(target, s.Send(method, path, programtest.AdminKey, ""), nil)
		}
	}
	s.expectPlainLog()
}

func TestHostileNamesDoNotCorruptLogOrMetrics(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, name := range []string{"<script>alert(1)</script>", `" level=FAKE msg="fake`, "\u202egnp.exe", "\u0085\u2028\u2029", "{{.}}", "=cmd|' /C calc'!A0", "\U000e0041", "a\u00a0b"} {
		key, err := s.CreateKey(t.Context(), shop.Caller{}, shop.NewKey{Name: name, Scopes: []shop.Scope{shop.PetsRead}})
		if err != nil {
			t.Fatal(err)
		}
		// This operation is deprecated, so the metrics count its requests by key ID and key name.
		s.Send("GET", "/v1/pets/1", key.Secret, "")
		s.Send("GET", "/v1/pets?q="+url.QueryEscape(name), key.Secret, "", "User-Agent: "+name)
	}
	metricLine := regexp.MustCompile(`^[a-z_]+(\{([a-z_]+="([^"\\\n]|\\[\\n"])*",?)*\})? \S+\n$`)
	for line := range strings.Lines(s.Get("/metrics").Body) {
		if !strings.HasPrefix(line, "#") && !metricLine.MatchString(line) {
			t.Errorf("corrupt line in the metrics: %q", line)
		}
	}
	s.expectPlainLog()
}

// Requests with unusual paths and methods add no time series. Otherwise, clients could exhaust the memory of the
// service and of Prometheus.
func TestUnusualRequestsCreateNoTimeSeries(t *testing.T) {
	t.Parallel()
	s := serve(t)
	send := func(n int) (series int) {
		s.Send("GET", "/v1/nothing/"+strings.Repeat("x", n), programtest.AdminKey, "")
		s.Send("GET", "/v1/pets/<script>", programtest.AdminKey, "")
		s.Send("BREW"+strings.Repeat("X", n), "/v1/pets", programtest.AdminKey, "")
		return strings.Count(s.Get("/metrics").Body, "\nanimalstore_http_requests_total{")
	}
	send(0)           // a request for the metrics is counted only after its response
	before := send(1) // by now, every kind of request has been counted once
	for n := range 20 {
		if after := send(n + 2); after != before {
			t.Errorf("time series: got %d after unusual requests, want %d as before", after, before)
		}
	}
	if strings.Contains(s.Get("/metrics").Body, "<script") {
		t.Error("the metrics contain a path that a client sent")
	}
}

// expectPlainLog stops the service and checks that every line of the log begins with a time and contains no control
// characters.
func (s *service) expectPlainLog() {
	s.T.Helper()
	s.stop()
	plainLine := regexp.MustCompile("^time=[^\x00-\x1f\x7f-\u009f\u2028\u202e]*\n$")
	for line := range strings.Lines(s.Output.String()) {
		if !plainLine.MatchString(line) {
			s.T.Errorf("corrupt line in the log: %q", line)
		}
	}
}

// A key that a client sends in the wrong header, in a parameter or in a body appears in no response, log, metric or
// profile.
func TestMisplacedKeysAreNotExposed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	issued := s.Key(t, shop.Admin).Secret
	webhook := s.Send("POST", "/v1/webhooks", programtest.AdminKey, `{"url":"https://example.com/hook"}`)
	signing := programtest.Decode[struct{ Secret string }](t, webhook.Body).Secret
	if !strings.HasPrefix(signing, "whsec_") {
		t.Fatalf("the new webhook has no signing secret: %v", webhook)
	}
	written := map[string]string{}
	basic := func(secret string) string { return base64.StdEncoding.EncodeToString([]byte("me:" + secret)) }
	record := func(what string, a programtest.Response) {
		written["the response to "+what] += fmt.Sprint(a.Header, a.Body)
	}
	for _, secret := range []string{programtest.AdminKey, issued} {
		for _, header := range []string{"X-Api-Key", "Proxy-Authorization", "Cookie", "Referer", "User-Agent", "Origin", "Accept",
			"Content-Type", "Content-Encoding", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID", "X-Request-Id",
			"Traceparent", "Tracestate", "X-Forwarded-For"} {
			for _, to := range []string{"GET /v1/pets", "POST /v1/pets", "PATCH /v1/pets/1", "OPTIONS /v1/pets", "GET /v1/nothing", "GET /v1/events"} {
				method, path, _ := strings.Cut(to, " ")
				record(to+" with "+header, s.Send(method, path, issued, `{"status":"none"}`, header+": "+secret))
			}
		}
		for _, parameter := range []string{"events?after=", "events?type=", "store/orders?limit=", "store/orders?petId="} {
			record(parameter, s.Send("GET", "/v1/"+parameter+secret, issued, ""))
		}
		for _, member := range []string{"categoryId", "status", "petId", "overlapSeconds", "expiresAt", "scopes", "url", secret} {
			for _, path := range []string{"/v1/pets", "/v1/store/orders", "/v1/keys", "/v1/webhooks", "/v1/keys/1/rotate"} {
				if path != "/v1/keys/1/rotate" || member == "overlapSeconds" { // without a known member, this request would rotate the key
					record(path+" with "+member, s.Send("POST", path, issued, fmt.Sprintf(`{%q:%q}`, member, secret)))
				}
			}
		}
		record("a body that is a key", s.Send("POST", "/v1/pets", issued, secret))
		record("a password", s.Send("GET", "/v1/pets", "", "", "Authorization: Basic "+basic(secret)))
		a, _ := s.sendRaw("GET /v1/pets HTTP/1.1\r\nHost: " + secret + "x/y\r\n\r\n")
		record("a host", a)
	}
	for _, path := range []string{"/metrics", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2", "/v1/events?limit=100",
		"/v1/keys", "/v1/webhooks", "/v1/webhooks/1", "/v1/webhooks/1/deliveries"} {
		written[path] = s.Get(path).Body
	}
	s.stop()
	written["the log"] = s.Output.String()
	for where, text := range written {
		for _, secret := range []string{programtest.AdminKey, issued, issued[9:30], signing, basic(issued)} {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s contains a secret: …%q…", where, text[max(0, at-50):min(len(text), at+len(secret)+50)])
			}
		}
	}
}
