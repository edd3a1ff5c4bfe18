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
	"animalstore/internal/shoptest"
)

func TestUnknownPathsAreNotFound(t *testing.T) {
	s := parallelShop(t)
	for _, path := range []string{"/v1", "/v1/", "/v1/nothing", "/v1/pets/", "/v1/pets/1/2", "/v1//pets", "//v1/pets", "/v1/./pets",
		"/v1/x/../pets", "/V1/pets", "/v1/Pets", "/v1/pets%2F", "/v1%2Fpets", "/v2/pets", "/", "/pets", "/debug/pprof", "/livez/"} {
		for _, method := range []string{"GET", "OPTIONS", "BREW"} {
			s.do(method, path, "").wantError(t, 404, shop.NotFound).wantHeaders(t, "Location: ") // nothing is redirected
		}
	}
	s.do("GET", "/debug/pprof/nothing", "").wantError(t, 404, shop.NotFound)
}

func TestWrongMethodsAreRefusedWithTheAllowedOnes(t *testing.T) {
	s := parallelShop(t)
	const get = "GET, HEAD, OPTIONS"
	for path, allow := range map[string]string{
		"/v1/pets": "GET, HEAD, OPTIONS, POST", "/v1/pets/abc": "DELETE, GET, HEAD, OPTIONS, PATCH",
		"/v1/openapi.json": get, "/livez": get, "/metrics": get, "/debug/pprof/heap": get,
	} {
		for _, method := range []string{"PUT", "TRACE", "BREW", "get"} {
			s.do(method, path, "").wantError(t, 405, shop.MethodNotAllowed).wantHeaders(t, "Allow: "+allow)
		}
		s.do("OPTIONS", path, "").want(t, 204, "").wantHeaders(t, "Allow: "+allow, "Content-Length: ", "Content-Type: ")
	}
}

// Every response has a unique request id, which also appears in the log.
func TestEveryResponseHasItsOwnRequestID(t *testing.T) {
	s := parallelShop(t)
	seen := map[string]bool{}
	for _, got := range []testResponse{
		s.do("GET", "/v1/pets", "", "X-Request-Id: chosen"), s.do("GET", "/v1/pets?limit=0", ""), s.do("POST", "/v1/pets", `{`),
		s.do("OPTIONS", "/v1/pets", ""), s.do("GET", "/metrics", "", "Authorization: "), s.do("GET", "/nothing", ""),
	} {
		id := got.Header.Get("X-Request-Id")
		if seen[id] || len(id) != 26 {
			t.Errorf("the id %q is not new", id)
		}
		seen[id] = true
		s.logLine(t, got)
	}
	s.do("GET", "/livez", "")
	if strings.Contains(s.log.String(), "livez") {
		t.Error("a successful health check is in the log")
	}
}

var errSecret = errors.New("SELECT broke at 10.0.0.1")

// A fault in the service results in a 500 or 503 without details. The log contains the details.
func TestFaultsAreReportedWithoutDetails(t *testing.T) {
	s := parallelShop(t)
	for _, c := range []struct {
		fault         func() error
		status        int
		code          shop.Code
		after, logged string
	}{
		{func() error { return fmt.Errorf("pets: %w", errSecret) }, 500, shop.Internal, "", errSecret.Error()},
		{func() error { panic(errSecret) }, 500, shop.Internal, "", "goroutine"},
		{func() error { var p *shop.Pet; return errors.New(p.Name) }, 500, shop.Internal, "", "nil pointer"},
		{func() error { return shop.UnavailableError(errSecret) }, 503, shop.Unavailable, "1", errSecret.Error()},
	} {
		s.Store.FailWith(func(bool) error { return c.fault() })
		for _, method := range []string{"GET", "HEAD"} {
			got := s.do(method, "/v1/categories", "").wantError(t, c.status, c.code)
			if strings.Contains(string(got.body), "SELECT") || strings.Contains(string(got.body), "nil pointer") {
				t.Errorf("the response shows the cause %q: %s", c.logged, got.body)
			}
			got.wantHeaders(t, "Retry-After: "+c.after)
			if line := s.logLine(t, got); !strings.Contains(line, c.logged) || !strings.Contains(line, "level=ERROR") {
				t.Errorf("the log does not say %q: %s", c.logged, line)
			}
		}
		s.Store.FailWith(nil)
		s.do("GET", "/v1/categories", "").want(t, 200, "[]")
	}
	for _, path := range []string{"/v1/openapi.json", "/v1/openapi.yaml"} { // these operations do not use the store
		s.api.router.exact[path].routes["GET"].handle = func(*API, *exchange) error { panic("on purpose") }
		s.do("GET", path, "").wantError(t, 500, shop.Internal)
	}
}

// If a response cannot be completed, the connection is dropped. The client therefore cannot mistake the response for a
// complete one.
func TestPanicDuringAResponseDropsTheConnection(t *testing.T) {
	s := parallelShop(t)
	s.api.router.exact["/livez"].routes["GET"].handle = func(_ *API, x *exchange) error {
		x.w.Header().Set("Content-Length", "100")
		x.w.Write([]byte("half of it"))
		panic("on purpose")
	}
	if _, err := s.tryDo("GET", "/livez", ""); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want a dropped connection", err)
	}
}

const keyLine = "Authorization: Bearer " + adminKey + "\r\n"

// TestUnusualRequestsAreAnswered sends requests that an ordinary client library would not send.
func TestUnusualRequestsAreAnswered(t *testing.T) {
	s := parallelShop(t)
	for _, c := range []struct {
		request string
		status  int
		want    string // a text that must appear in the body or in the headers
	}{
		{"GET /v1/pets HTTP/1.0\r\n" + keyLine + "\r\n", 200, "<http://"},
		{"GET http://elsewhere/v1/pets HTTP/1.1\r\nHost: elsewhere\r\n" + keyLine + "\r\n", 200, "<http://elsewhere/"},
		{"GET /v1/pets HTTP/1.1\r\nHost: x\r\n" + keyLine + "Content-Length: 2\r\n\r\n{}", 200, "<http://x/"},
		{"GET /v1/%0d%0aSet-Cookie:x HTTP/1.1\r\nHost: x\r\n" + keyLine + "\r\n", 404, string(shop.NotFound)},
		{"POST /v1/pets HTTP/1.1\r\nHost: x\r\n" + keyLine + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, string(shop.InvalidJSON)},
		{"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 204, "Allow:[DELETE"},
	} {
		got := s.exchange(t, c.request)
		if text := fmt.Sprint(got.Header) + string(got.body); got.StatusCode != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%q: got %d %s, want %d and %s", c.request, got.StatusCode, text, c.status, c.want)
		}
		s.logLine(t, got)
	}
}

// A response does not wait for a request body that is not needed, because the client might never send it.
func TestResponseDoesNotWaitForAnUnneededBody(t *testing.T) {
	s := parallelShop(t)
	for request, status := range map[string]int{
		"POST /v1/pets HTTP/1.1\r\n":                                            401,
		"GET /v1/pets HTTP/1.1\r\n" + keyLine:                                   200,
		"GET /v1/nothing HTTP/1.1\r\n" + keyLine:                                404,
		"BREW /v1/pets HTTP/1.1\r\n" + keyLine:                                  405,
		"POST /v1/pets HTTP/1.1\r\n" + keyLine + "Content-Type: text/plain\r\n": 415,
		"OPTIONS /v1/pets HTTP/1.1\r\n":                                         204,
		"GET /livez HTTP/1.1\r\n":                                               200,
		"GET /v1/openapi.json HTTP/1.1\r\nIf-None-Match: *\r\n":                 304,
	} {
		for _, length := range []string{"Content-Length: 10", "Content-Length: 99999999", "Transfer-Encoding: chunked"} {
			if got := s.exchange(t, request+"Host: x\r\n"+length+"\r\n\r\n"); got.StatusCode != status {
				t.Errorf("%q with %s: %d, want %d", request, length, got.StatusCode, status)
			}
		}
	}
	post, large := "POST /v1/pets HTTP/1.1\r\nHost: x\r\n"+keyLine, maxBodyBytes+1
	s.exchange(t, fmt.Sprintf("%sContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", post, large)).want(t, 413, "")
	s.exchange(t, fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%*s\r\n", post, large, large, "")).want(t, 413, "")
}

// exchange sends a raw request and returns the response.
func (s *testShop) exchange(t *testing.T, request string) testResponse {
	t.Helper()
	response := s.begin(t, request)
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	return testResponse{response, body}
}

// begin sends a raw request and returns the response without reading its body.
func (s *testShop) begin(t *testing.T, request string) *http.Response {
	t.Helper()
	connection := s.dial(t)
	connection.SetDeadline(time.Now().Add(5 * time.Minute)) // in case the service hangs
	shoptest.Must(io.WriteString(connection, request))(t)
	method, _, _ := strings.Cut(request, " ")
	response, err := http.ReadResponse(bufio.NewReader(connection), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	return response
}

// dial opens a connection to the service. The connection is closed when the test ends.
func (s *testShop) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	connection := shoptest.Must(net.Dial("tcp", strings.TrimPrefix(s.url, "http://")))(t)
	t.Cleanup(func() { connection.Close() })
	return connection.(*net.TCPConn)
}
