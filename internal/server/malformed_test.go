package server_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"animalstore/internal/programtest"
	"animalstore/internal/server"
	"animalstore/internal/shop"
)

// refusal is the body of an error response.
type refusal struct {
	Code    shop.Code
	Message string
	Status  int
}

// wantRefusal checks that a response is an Error as defined by the API, with the given status, code and
// message, and that its request id is in the log.
func (s *service) wantRefusal(what string, a programtest.Response, err error, status int, code shop.Code, message string) {
	s.T.Helper()
	var members map[string]any
	var body refusal
	if err != nil || a.Status != status || json.Unmarshal([]byte(a.Body), &members) != nil || len(members) != 3 ||
		json.Unmarshal([]byte(a.Body), &body) != nil || body.Status != status || body.Code != code || !strings.Contains(body.Message, message) {
		s.T.Errorf("%s: got %v, %v, want %d %s with %q", what, a, err, status, code, message)
		return
	}
	id := a.Header.Get("X-Request-Id")
	if id == "" || a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Date") == "" {
		s.T.Errorf("%s: got the headers %v", what, a.Header)
	}
	programtest.Await(s.T, what+" to be logged", func() bool { return strings.Contains(s.Output.String(), "id="+id) })
}

// overTLS serves a shop over TLS. It also returns a TLS configuration with which clients trust the shop's certificate.
func overTLS(t *testing.T) (*service, *tls.Config) {
	t.Helper()
	folder, authority := programtest.NewFolder(t), programtest.NewAuthority(t)
	cert, key := authority.Issue(time.Hour)
	certificate, err := server.LoadCertificate(folder.Write("cert.pem", cert), folder.Write("key.pem", key))
	if err != nil {
		t.Fatal(err)
	}
	config := authority.Transport().TLSClientConfig
	config.ServerName = "localhost"
	return serveWith(t, certificate), config
}

// Over HTTP/1, with and without TLS, requests that net/http refuses without calling a handler also get an Error. The
// key is checked before anything else.
func TestMalformedRequestsGetAnError(t *testing.T) {
	t.Parallel()
	const host, key = "Host: x\r\n", authorization
	plain := serve(t)
	secure, config := overTLS(t)
	sendSecure := func(request string) (programtest.Response, error) {
		connection := tls.Client(dial(t, secure.addr), config)
		defer connection.Close()
		go io.WriteString(connection, request)
		return receive(bufio.NewReader(connection))
	}
	for _, c := range []struct {
		name, request string
		status        int
		code          shop.Code
		message       string
	}{
		{"an undecodable path", "GET /v1/pets/%zz HTTP/1.1\r\n" + host + key + "\r\n", 404, shop.NotFound, "cannot be decoded"},
		{"half an escape", "DELETE /v1/pets/1%4 HTTP/1.1\r\n" + host + key + "\r\n", 404, shop.NotFound, "cannot be decoded"},
		{"an undecodable path without a key", "GET /v1/pets/%zz HTTP/1.1\r\n" + host + "\r\n", 401, shop.MissingAPIKey, ""},
		{"an undecodable path with a wrong key", "GET /v1/%zz HTTP/1.1\r\n" + host + "Authorization: Bearer x\r\n\r\n", 401, shop.InvalidAPIKey, ""},
		{"an undecodable path of HTTP/1.0", "GET /v1/pets/%zz HTTP/1.0\r\n" + key + "\r\n", 404, shop.NotFound, "cannot be decoded"},
		{"an undecodable path in a URL", "GET http://x/v1/pets/%zz HTTP/1.1\r\n" + host + "\r\n", 401, shop.MissingAPIKey, ""},
		{"an undecodable path outside the API", "GET /staff/%zz?x=%zz HTTP/1.1\r\n" + host + "\r\n", 404, shop.NotFound, "cannot be decoded"},
		{"a body after an undecodable path", "POST /v1/pets/%zz HTTP/1.1\r\n" + host + key + "Content-Length: 60000\r\n\r\n" + strings.Repeat(" ", 60000), 404, shop.NotFound, ""},
		{"an unknown expectation", "GET /v1/pets HTTP/1.1\r\n" + host + key + "Expect: miracles\r\n\r\n", 400, shop.InvalidParameter, "Expect header"},
		{"an unknown expectation without a key", "GET /v1/pets HTTP/1.1\r\n" + host + "Expect: miracles\r\n\r\n", 401, shop.MissingAPIKey, ""},
		{"an unknown expectation for a public path", "GET /v1/openapi.json HTTP/1.1\r\n" + host + "Expect: miracles\r\n\r\n", 400, shop.InvalidParameter, "Expect header"},
		{"an unknown expectation of HTTP/1.0", "GET /v1/pets HTTP/1.0\r\n" + key + "Expect: miracles\r\n\r\n", 400, shop.InvalidParameter, "Expect header"},
		{"two expectations", "GET /v1/pets HTTP/1.1\r\n" + host + key + "Expect: 100-continue, miracles\r\n\r\n", 400, shop.InvalidParameter, "Expect header"},
		{"no host", "GET /v1/pets HTTP/1.1\r\n" + key + "\r\n", 400, shop.InvalidParameter, "missing required Host header"},
		{"a bad host", "GET /v1/pets HTTP/1.1\r\nHost: a b\r\n" + key + "\r\n", 400, shop.InvalidParameter, "malformed Host header"},
		{"a bad host without a key", "GET /v1/pets HTTP/1.1\r\nHost: a b\r\n\r\n", 401, shop.MissingAPIKey, ""},
		{"a bad header name", "GET /v1/pets HTTP/1.1\r\n" + host + "Bad Name: x\r\n" + key + "\r\n", 400, shop.InvalidParameter, "not valid HTTP"},
		{"huge headers", "GET /v1/pets HTTP/1.1\r\n" + host + key + "X-Huge: " + strings.Repeat("x", 240<<10) + "\r\n\r\n", 413, shop.PayloadTooLarge, "16 KiB"},
		{"an unknown encoding", "POST /v1/pets HTTP/1.1\r\n" + host + key + "Transfer-Encoding: zip\r\n\r\n", 400, shop.InvalidParameter, "not valid HTTP"},
		{"an unknown version", "GET /v1/pets HTTP/9.9\r\n" + host + key + "\r\n", 400, shop.InvalidParameter, "unsupported protocol version"},
		{"no HTTP at all", "hello\r\n\r\n", 400, shop.InvalidParameter, "not valid HTTP"},
	} {
		a, err := plain.sendRaw(c.request)
		plain.wantRefusal(c.name, a, err, c.status, c.code, c.message)
		a, err = sendSecure(c.request)
		secure.wantRefusal(c.name+" over TLS", a, err, c.status, c.code, c.message)
	}
	a, err := plain.sendRaw("GET /v1/pets/%zz HTTP/1.1\r\n" + host + key + "\r\n")
	if err != nil || a.Header.Get("Sunset") == "" {
		t.Errorf("an undecodable path of the deprecated operation: got the headers %v", a.Header)
	}
	a, err = secure.sendRaw("GET /v1/pets HTTP/1.1\r\n" + host + key + "\r\n")
	secure.wantRefusal("HTTP to the port of HTTPS", a, err, 400, shop.InvalidParameter, "HTTPS server")
	plain.expectPlainLog()
	secure.expectPlainLog()
}

// A malformed request gets an Error even if it follows others on the same connection or arrives in pieces. The response
// to HEAD has no body. If the client sends a malformed request before it receives the previous response, the Error does
// not depend on the key. In this case, the server has not kept the start of the request and cannot check its key.
func TestMalformedRequestAfterOthers(t *testing.T) {
	t.Parallel()
	s := serve(t)
	const valid = "GET /v1/store/inventory HTTP/1.1\r\nHost: x\r\n" + authorization + "\r\n"
	const bad = "GET /v1/pets/%zz HTTP/1.1\r\nHost: x\r\n" + authorization + "\r\n"
	connection := dial(t, s.addr)
	responses := bufio.NewReader(connection)
	for range 3 {
		io.WriteString(connection, valid)
		if a, err := receive(responses); err != nil || a.Status != 200 {
			t.Fatalf("got %v, %v", a, err)
		}
	}
	for _, piece := range strings.SplitAfter(bad, "\n") {
		if _, err := io.WriteString(connection, piece); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // makes most pieces arrive separately; the result is the same if they do not
	}
	a, err := receive(responses)
	s.wantRefusal("a request in pieces", a, err, 404, shop.NotFound, "cannot be decoded")
	if rest, err := io.ReadAll(responses); err != nil || len(rest) > 0 {
		t.Errorf("after the refusal: got %q, %v, want the end of the connection", rest, err)
	}

	head := dial(t, s.addr)
	fmt.Fprint(head, strings.Replace(bad, "GET", "HEAD", 1))
	if all, err := io.ReadAll(head); err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 404 ") || !strings.HasSuffix(string(all), "\r\n\r\n") {
		t.Errorf("HEAD: got %q, %v, want a response without a body", all, err)
	}

	early := dial(t, s.addr)
	fmt.Fprint(early, valid+bad)
	responses = bufio.NewReader(early)
	receive(responses)
	a, err = receive(responses)
	s.wantRefusal("a request sent early", a, err, 400, shop.InvalidParameter, "not valid HTTP")
}

// Over HTTP/2, the handler refuses unknown expectations as over HTTP/1. Other malformed requests do not reach a
// handler: net/http resets the stream if the path cannot be decoded, and sends its own error page or closes the
// connection if the headers are too large.
func TestMalformedRequestsOverHTTP2(t *testing.T) {
	t.Parallel()
	s, config := overTLS(t)
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	send := func(path string, headers ...string) (programtest.Response, error) {
		t.Helper()
		// Each request has its own connection. Otherwise, the transport would retry it forever after PROTOCOL_ERROR.
		connection, err := transport.NewClientConn(t.Context(), "https", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		r, err := http.NewRequest("GET", "https://"+s.addr+"/v1/pets", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Opaque = path // the client sends this path unchanged
		r.Header.Set("Authorization", "Bearer "+programtest.AdminKey)
		for _, header := range headers {
			name, value, _ := strings.Cut(header, ": ")
			r.Header.Set(name, value)
		}
		got, err := connection.RoundTrip(r)
		if err != nil {
			return programtest.Response{}, err
		}
		defer got.Body.Close()
		body, err := io.ReadAll(got.Body)
		return programtest.Response{Status: got.StatusCode, Header: got.Header, Body: string(body)}, err
	}
	a, err := send("", "Expect: miracles")
	s.wantRefusal("an unknown expectation", a, err, 400, shop.InvalidParameter, "Expect header")
	a, err = send("", "Expect: miracles", "Authorization: x")
	s.wantRefusal("an unknown expectation and a wrong key", a, err, 401, shop.InvalidAPIKey, "")
	if a, err := send("/v1/pets/%zz"); err == nil || !strings.Contains(err.Error(), "PROTOCOL_ERROR") {
		t.Errorf("an undecodable path: got %v, %v, want a reset stream", a, err)
	}
	var many []string
	for i := range 130 {
		many = append(many, fmt.Sprintf("X-%d: %s", i, strings.Repeat("x", 100)))
	}
	// If the client already knows the server's limit, it does not send the request.
	unsent := func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "larger than peer's advertised limit")
	}
	if a, err := send("", "X-Huge: "+strings.Repeat("x", 30<<10)); err == nil || !unsent(err) && !strings.Contains(err.Error(), "GOAWAY") {
		t.Errorf("a huge header: got %v, %v, want a closed connection", a, err)
	}
	if a, err := send("", many...); !unsent(err) && (err != nil || a.Status != 431 || !strings.Contains(a.Body, "<h1>HTTP Error 431")) {
		t.Errorf("many headers: got %v, %v, want the page of net/http", a, err)
	}
}
