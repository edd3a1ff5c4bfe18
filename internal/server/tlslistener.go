package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// tlsListener accepts connections with TLS. It returns a connection only after the handshake, which decides whether
// the client uses HTTP/2 and needs an http2Conn, or HTTP/1 and needs an http1Conn.
type tlsListener struct {
	plainListener
	config     *tls.Config
	errorLog   *log.Logger
	accepted   chan acceptResult
	lifetime   context.Context // ends when the listener is closed
	end        context.CancelFunc
	handshakes sync.WaitGroup
}

type acceptResult struct {
	conn net.Conn
	err  error
}

// newTLSListener returns a listener that already accepts connections in the background.
func newTLSListener(plain plainListener, config *tls.Config, errorLog *log.Logger) *tlsListener {
	l := &tlsListener{plainListener: plain, config: config, errorLog: errorLog, accepted: make(chan acceptResult)}
	l.lifetime, l.end = context.WithCancel(context.Background())
	l.handshakes.Go(l.acceptAll)
	return l
}

// Accept returns the next connection whose handshake has succeeded.
func (l *tlsListener) Accept() (net.Conn, error) {
	select {
	case result := <-l.accepted:
		return result.conn, result.err
	case <-l.lifetime.Done():
		return nil, net.ErrClosed
	}
}

// Close stops listening and ends the handshakes in progress. It does not close accepted connections.
func (l *tlsListener) Close() error {
	l.end()
	return l.limitListener.Close()
}

func (l *tlsListener) acceptAll() {
	for {
		c, err := l.accept()
		if err == nil {
			l.handshakes.Go(func() { l.handshake(c) })
		} else if !l.offer(acceptResult{nil, err}) || errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// offer passes a result to Accept. It returns false if the listener is closed.
func (l *tlsListener) offer(result acceptResult) bool {
	select {
	case l.accepted <- result:
		return true
	case <-l.lifetime.Done():
		return false
	}
}

func (l *tlsListener) handshake(c *limitedConn) {
	secure := tls.Server(c, l.config)
	c.SetDeadline(time.Now().Add(readHeaderTimeout))
	if err := secure.HandshakeContext(l.lifetime); err != nil {
		l.refuse(c, err)
		c.Close()
		return
	}
	state := secure.ConnectionState()
	if protocol := state.NegotiatedProtocol; protocol != "" && protocol != "h2" && protocol != "http/1.1" {
		secure.Close() // a certificate authority that validates a domain needs only the handshake
		return
	}
	c.SetDeadline(time.Time{})
	var conn net.Conn
	if state.NegotiatedProtocol == "h2" {
		c.secure = &state
		conn = newHTTP2Conn(secure, c)
	} else {
		conn = &tlsHTTP1Conn{&http1Conn{halfCloser: secure, limited: c, malformed: l.malformed}, state}
	}
	if !l.offer(acceptResult{conn, nil}) {
		conn.Close()
	}
}

// refuse logs why a handshake has failed. If the client does not use TLS, refuse responds with an error. The error
// does not depend on the request, because the handshake has already consumed it.
func (l *tlsListener) refuse(c *limitedConn, err error) {
	l.errorLog.Printf("http: TLS handshake error from %s: %v", c.RemoteAddr(), err)
	mismatch, ok := errors.AsType[tls.RecordHeaderError](err)
	if ok && mismatch.RecordHeader[0] >= 'A' && mismatch.RecordHeader[0] <= 'Z' { // perhaps an HTTP method
		plain := &http1Conn{halfCloser: c, limited: c, malformed: l.malformed}
		plain.refuse(&http.Response{
			StatusCode: http.StatusBadRequest, Status: "400 Bad Request: the client sent an HTTP request to an HTTPS server",
		})
	}
}
