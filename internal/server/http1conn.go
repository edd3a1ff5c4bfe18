package server

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"
)

// http1Conn is a connection that uses HTTP/1. net/http refuses some requests without calling the handler, because
// they are not valid HTTP, their headers are too large or their Expect header is unknown. It then writes a short
// response to the connection. http1Conn sends the response of Handlers.Malformed instead. If it cannot parse what
// net/http has written, it sends that unchanged.
type http1Conn struct {
	halfCloser
	limited   *limitedConn
	malformed func(w http.ResponseWriter, r *http.Request, refusal *http.Response)
	head      []byte // the start of the request whose handler has not been called yet
}

// halfCloser is a *limitedConn or a *tls.Conn. It has CloseWrite, because net/http closes only the sending half of a
// connection after some responses.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// maxHead is the maximum number of bytes at the start of a request that are kept until its handler is called.
const maxHead = 4 << 10

// unreadTimeout is how long a client may take to read a refusal while it is still sending its request.
const unreadTimeout = 500 * time.Millisecond

func (c *http1Conn) unwrap() *limitedConn { return c.limited }

// Read reads from the connection and keeps the start of a request whose handler has not been called yet.
func (c *http1Conn) Read(p []byte) (int, error) {
	n, err := c.halfCloser.Read(p)
	if c.limited.state.Load() == connWaiting {
		c.head = append(c.head, p[:min(n, maxHead-len(c.head))]...)
	}
	return n, err
}

// forgetHead discards the start of the previous request. It is called when that request is complete.
func (c *http1Conn) forgetHead() { c.head = c.head[:0] }

// Write sends a part of a response. If no handler has been called yet, net/http is refusing the request, and Write
// calls refuse instead.
func (c *http1Conn) Write(p []byte) (int, error) {
	if c.limited.state.Load() == connWaiting {
		if refusal, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(p)), nil); err == nil {
			return len(p), c.refuse(refusal)
		}
	}
	return c.halfCloser.Write(p)
}

// refuse sends the response of Handlers.Malformed and closes the sending half of the connection. It then discards
// what the client is still sending, for at most unreadTimeout, because the client could lose the response if the
// connection were closed at once.
func (c *http1Conn) refuse(refusal *http.Response) error {
	r := c.readRequest()
	w := &bufferedResponse{header: http.Header{}}
	c.malformed(w, r, refusal)
	w.header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	response := http.Response{
		StatusCode: w.status, ProtoMajor: 1, ProtoMinor: 1, Header: w.header, Request: r,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Close: true,
	}
	c.SetDeadline(time.Now().Add(readHeaderTimeout))
	if err := response.Write(c.halfCloser); err != nil {
		return err
	}
	if err := c.CloseWrite(); err != nil {
		return err
	}
	c.SetReadDeadline(time.Now().Add(unreadTimeout))
	// Read until the client closes its half of the connection.
	io.CopyN(io.Discard, c.halfCloser, maxHeaderBytes+maxReceiveBuffer)
	return nil
}

// readRequest parses the start of a request that net/http has refused. It does not decode the path. The result is
// empty if the client sent the request before it received the previous response, because the start of such a request
// is not kept.
func (c *http1Conn) readRequest() *http.Request {
	r := &http.Request{URL: &url.URL{}, Header: http.Header{}, RemoteAddr: c.RemoteAddr().String()}
	if len(c.head) == 0 {
		return r
	}
	var source io.Reader = bytes.NewReader(c.head)
	if len(c.head) < maxHead { // net/http may have stopped reading after the first line
		source = io.LimitReader(io.MultiReader(source, c.halfCloser), maxHead)
	}
	lines := textproto.NewReader(bufio.NewReader(source))
	line, err := lines.ReadLine()
	words := strings.Split(line, " ")
	if err != nil || len(words) != 3 || !strings.HasPrefix(words[2], "HTTP/1.") {
		return r
	}
	r.Method = words[0]
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(words[1], "?")
	if _, rest, isAbsolute := strings.Cut(r.URL.Path, "://"); isAbsolute {
		_, path, _ := strings.Cut(rest, "/")
		r.URL.Path = "/" + path
	}
	for {
		line, err := lines.ReadLine()
		if err != nil || line == "" {
			return r
		}
		name, value, _ := strings.Cut(line, ":")
		r.Header.Add(name, strings.TrimSpace(value))
	}
}

// bufferedResponse is an http.ResponseWriter that keeps a short response in memory.
type bufferedResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *bufferedResponse) Header() http.Header                     { return w.header }
func (w *bufferedResponse) WriteHeader(status int)                  { w.status = status }
func (w *bufferedResponse) Write(p []byte) (written int, err error) { return w.body.Write(p) }

// tlsHTTP1Conn is an http1Conn over TLS. net/http copies its ConnectionState to http.Request.TLS.
type tlsHTTP1Conn struct {
	*http1Conn
	state tls.ConnectionState
}

// ConnectionState describes the TLS connection.
func (c *tlsHTTP1Conn) ConnectionState() tls.ConnectionState { return c.state }
