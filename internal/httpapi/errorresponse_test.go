package httpapi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

func TestUnknownPathsAreNotFound(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, path := range []string{"/v1", "/v1/", "/v1/nothing", "/v1/pets/", "/v1/pets/1/", "/v1/pets/1/2", "/v1//pets", "//v1/pets",
		"/v1/./pets", "/v1/x/../pets", "/V1/pets", "/v1/Pets", "/v1/pets%2F", "/v1%2Fpets", "/v2/pets", "/", "/pets", "/debug/pprof", "/livez/"} {
		for _, method := range []string{"GET", "OPTIONS", "BREW"} {
			s.do(method, path, "").wantError(t, 404, shop.NotFound)
		}
	}
	s.do("GET", "/debug/pprof/nothing", "").wantError(t, 404, shop.NotFound)
	if location := s.do("GET", "/v1//pets", "").Header.Get("Location"); location != "" {
		t.Errorf("an unclean path is sent to %s", location)
	}
}

func TestWrongMethodsAreRefusedWithTheAllowedOnes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for path, allow := range map[string]string{
		"/v1/pets":          "GET, HEAD, OPTIONS, POST",
		"/v1/pets/1":        "DELETE, GET, HEAD, OPTIONS, PATCH",
		"/v1/pets/abc":      "DELETE, GET, HEAD, OPTIONS, PATCH",
		"/v1/openapi.json":  "GET, HEAD, OPTIONS",
		"/v1/openapi.yaml":  "GET, HEAD, OPTIONS",
		"/livez":            "GET, HEAD, OPTIONS",
		"/readyz":           "GET, HEAD, OPTIONS",
		"/metrics":          "GET, HEAD, OPTIONS",
		"/debug/pprof/":     "GET, HEAD, OPTIONS",
		"/debug/pprof/heap": "GET, HEAD, OPTIONS",
	} {
		for _, method := range []string{"PUT", "TRACE", "BREW", "get"} {
			got := s.do(method, path, "")
			got.wantError(t, 405, shop.MethodNotAllowed)
			if got.Header.Get("Allow") != allow {
				t.Errorf("%s %s: Allow is %q", method, path, got.Header.Get("Allow"))
			}
		}
		got := s.do("OPTIONS", path, "")
		got.want(t, 204, "")
		if got.Header.Get("Allow") != allow || len(got.body) != 0 {
			t.Errorf("OPTIONS %s: Allow is %q, the body %q", path, got.Header.Get("Allow"), got.body)
		}
	}
}

// Every response has a unique request id, which also appears in the log.
func TestEveryResponseHasItsOwnRequestID(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	seen := map[string]bool{}
	for _, got := range []testResponse{
		s.do("GET", "/v1/pets", ""),
		s.do("GET", "/v1/pets", "", "X-Request-Id: chosen-by-the-client"),
		s.do("GET", "/v1/pets?limit=0", ""),
		s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`),
		s.do("GET", "/v1/nothing", "", "Authorization: "),
		s.do("OPTIONS", "/v1/pets", ""),
		s.do("GET", "/nothing", ""),
	} {
		id := got.Header.Get("X-Request-Id")
		if seen[id] || len(id) != 26 {
			t.Errorf("the id %q is not new", id)
		}
		seen[id] = true
		if !strings.Contains(s.log.String(), "id="+id) {
			t.Errorf("the log does not have the request %s", id)
		}
	}
	refused := s.do("GET", "/metrics", "", "Authorization: ").Header.Get("X-Request-Id")
	if !strings.Contains(s.log.String(), "id="+refused) {
		t.Error("a request for the metrics without a key is not in the log")
	}
	s.do("GET", "/livez", "")
	if strings.Contains(s.log.String(), "livez") {
		t.Error("a successful health check is in the log")
	}
}

var errSecret = errors.New("SELECT broke at 10.0.0.1")

// A fault in the service results in a 500 or 503 without details. The log contains the details.
func TestFaultsAreReportedWithoutDetails(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, c := range []struct {
		name   string
		fault  func() error
		status int
		code   shop.Code
		logged string
	}{
		{"an unknown error", func() error { return errSecret }, 500, shop.Internal, errSecret.Error()},
		{"a wrapped error", func() error { return fmt.Errorf("pets: %w", errSecret) }, 500, shop.Internal, errSecret.Error()},
		{"a panic", func() error { panic(errSecret) }, 500, shop.Internal, "goroutine"},
		{"a nil dereference", func() error { var p *shop.Pet; return errors.New(p.Name) }, 500, shop.Internal, "nil pointer"},
		{"a database that is away", func() error { return shop.UnavailableError(errSecret) }, 503, shop.Unavailable, errSecret.Error()},
	} {
		s.Store.FailWith(func(bool) error { return c.fault() })
		for _, method := range []string{"GET", "HEAD"} {
			got := s.do(method, "/v1/categories", "")
			got.wantError(t, c.status, c.code)
			if strings.Contains(string(got.body), "SELECT") || strings.Contains(string(got.body), "nil pointer") {
				t.Errorf("%s: the response shows the cause: %s", c.name, got.body)
			}
			if (got.Header.Get("Retry-After") != "") != (c.status == 503) {
				t.Errorf("%s: Retry-After is %q", c.name, got.Header.Get("Retry-After"))
			}
			line := s.logLine(t, got)
			if !strings.Contains(line, c.logged) || !strings.Contains(line, "level=ERROR") {
				t.Errorf("%s: the log does not say %q: %s", c.name, c.logged, line)
			}
		}
		s.Store.FailWith(nil)
		s.do("GET", "/v1/categories", "").want(t, 200, "[]")
	}
}

// A panic in a handler results in a 500.
func TestPanicBecomesAnInternalError(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, path := range []string{"/v1/openapi.json", "/v1/openapi.yaml"} {
		for _, endpoint := range s.api.router.endpoints {
			if strings.Join(endpoint.segments, "/") == path {
				handler := endpoint.routes["GET"].handle
				endpoint.routes["GET"].handle = func(*API, *exchange) error { panic("on purpose") }
				s.do("GET", path, "").wantError(t, 500, shop.Internal)
				endpoint.routes["GET"].handle = handler
			}
		}
		s.do("GET", path, "").want(t, 200, "")
	}
}

// If a response cannot be completed, the connection is dropped, so that no client mistakes the partial
// response for a complete one.
func TestPanicDuringAResponseDropsTheConnection(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, endpoint := range s.api.router.endpoints {
		if route := endpoint.routes["GET"]; route != nil && route.operation == "livez" {
			route.handle = func(_ *API, x *exchange) error {
				x.w.Header().Set("Content-Length", "100")
				x.w.Write([]byte("half of it"))
				panic("on purpose")
			}
		}
	}
	if _, err := s.tryDo("GET", "/livez", ""); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want a dropped connection", err)
	}
}

// TestUnusualRequestsAreAnswered sends requests that an ordinary client library would not send.
func TestUnusualRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const key = "Authorization: Bearer " + adminKey + "\r\n"
	for _, c := range []struct {
		name, request string
		status        int
		code          shop.Code
	}{
		{"HTTP/1.0 without a host", "GET /v1/pets HTTP/1.0\r\n" + key + "\r\n", 200, ""},
		{"an absolute address", "GET http://elsewhere/v1/pets HTTP/1.1\r\nHost: elsewhere\r\n" + key + "\r\n", 200, ""},
		{"a body that breaks off", "POST /v1/pets HTTP/1.1\r\nHost: x\r\n" + key + "Content-Length: 100\r\n\r\n{\"name\":", 400, shop.InvalidJSON},
		{"chunks that are none", "POST /v1/pets HTTP/1.1\r\nHost: x\r\n" + key + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, shop.InvalidJSON},
		{"a GET with a body", "GET /v1/pets HTTP/1.1\r\nHost: x\r\n" + key + "Content-Length: 2\r\n\r\n{}", 200, ""},
		{"a line break in the method's path", "GET /v1/%0d%0aSet-Cookie:x HTTP/1.1\r\nHost: x\r\n" + key + "\r\n", 404, shop.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			if _, err := io.WriteString(connection, c.request); err != nil {
				t.Fatal(err)
			}
			if c.status == 400 {
				connection.(*net.TCPConn).CloseWrite() // the client sends nothing more
			}
			response, err := http.ReadResponse(bufio.NewReader(connection), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != c.status || !strings.Contains(string(body), string(c.code)) {
				t.Errorf("got %d %s, want %d %s", response.StatusCode, body, c.status, c.code)
			}
			if link := response.Header.Get("Link"); c.status == 200 && !strings.HasPrefix(link, "<http://") {
				t.Errorf("Link is %q", link)
			}
		})
	}
	for line := range strings.Lines(s.log.String()) {
		if !strings.HasPrefix(line, "time=") {
			t.Errorf("a request broke the format of a log line: %q", line)
		}
	}
}

// A response is sent without waiting for a request body that is not needed, because the client might never
// send that body.
func TestResponseDoesNotWaitForAnUnneededBody(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	key := "Authorization: Bearer " + adminKey + "\r\n"
	for _, c := range []struct {
		request string
		status  int
	}{
		{"POST /v1/pets HTTP/1.1\r\n", 401},
		{"GET /v1/pets HTTP/1.1\r\n" + key, 200},
		{"GET /v1/nothing HTTP/1.1\r\n" + key, 404},
		{"BREW /v1/pets HTTP/1.1\r\n" + key, 405},
		{"POST /v1/pets HTTP/1.1\r\n" + key + "Content-Type: text/plain\r\n", 415},
		{"DELETE /v1/pets/1 HTTP/1.1\r\n" + key, 404},
		{"OPTIONS /v1/pets HTTP/1.1\r\n", 204},
		{"GET /livez HTTP/1.1\r\n", 200},
		{"GET /metrics HTTP/1.1\r\n" + key, 200},
		{"GET /v1/openapi.json HTTP/1.1\r\nIf-None-Match: *\r\n", 304},
	} {
		for _, length := range []string{"Content-Length: 10", "Content-Length: 99999999", "Transfer-Encoding: chunked"} {
			response := s.exchange(t, c.request+"Host: x\r\n"+length+"\r\n\r\n")
			if response.StatusCode != c.status {
				t.Errorf("%q with %s: %d, want %d", c.request, length, response.StatusCode, c.status)
			}
		}
	}
	large := fmt.Sprintf("POST /v1/pets HTTP/1.1\r\nHost: x\r\n%sContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n", key)
	if response := s.exchange(t, large); response.StatusCode != 413 {
		t.Errorf("a body with a too large Content-Length: %d", response.StatusCode)
	}
	chunks := fmt.Sprintf("POST /v1/pets HTTP/1.1\r\nHost: x\r\n%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", key, maxBodyBytes+1, strings.Repeat(" ", maxBodyBytes+1))
	if response := s.exchange(t, chunks); response.StatusCode != 413 {
		t.Errorf("a body that is too large and never ends: %d", response.StatusCode)
	}
}

func TestOptionsForTheWholeServerIsAnswered(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	response := s.exchange(t, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
	if response.StatusCode != 204 || response.Header.Get("Allow") == "" || response.Header.Get("X-Request-Id") == "" {
		t.Errorf("got %d %v", response.StatusCode, response.Header)
	}
}

// exchange sends a raw request and returns the response without its body.
func (s *testShop) exchange(t *testing.T, request string) *http.Response {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(5 * time.Minute)) // in case the service hangs
	if _, err := io.WriteString(connection, request); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	response.Body.Close()
	return response
}
