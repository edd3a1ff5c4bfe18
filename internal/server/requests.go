package server

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// Every connection may have one request in progress. HTTP/2 allows more. These extra requests of all
// connections share a limit, so that the number of connections also limits the number of requests.
const (
	// maxExtraRequests is the maximum number of requests in progress beyond the first on each connection.
	maxExtraRequests = 500
	// extraReserve is how many extra requests are accepted beyond maxExtraRequests, to serve probes and clients
	// with few requests, and to refuse others with a proper response. Beyond the reserve, the connection is
	// closed.
	extraReserve = 200
	// fewRequests is how many requests a connection may have in progress and still be served from the reserve. Thus
	// clients with many requests do not keep out clients with few.
	fewRequests = 10
	// extraMinAge is how long a client with several requests must have paused before its connection may be
	// closed. Connections are closed for this reason only if more than three quarters of maxExtraRequests are
	// in progress.
	extraMinAge = 500 * time.Millisecond
	// progressStep is the number of bytes that a client must send or read to count as making progress.
	progressStep = 16 << 10
)

// connRequests counts the requests in progress on one connection, and how many of them are waiting for the
// client.
type connRequests struct {
	open     atomic.Int32
	waiting  atomic.Int32
	begun    atomic.Int64  // requests whose handler has begun
	begins   chan struct{} // has an element if a handler has begun
	written  atomic.Int64  // how often handlers have written or flushed a part of a response
	progress atomic.Int64  // when the client last sent or read something, in nanoseconds since 1970
}

func (c *connRequests) madeProgress() { c.progress.Store(time.Now().UnixNano()) }

// allWait reports whether all requests are waiting for the client. This is also true if no request is in
// progress. On an active connection, net/http is then still sending the end of a response.
func (c *connRequests) allWait() bool { return c.waiting.Load() >= c.open.Load() }

// trackRequests limits the number of requests in progress and counts how many of them are waiting for their
// clients. A dropped connection must not start another request, because the client would never learn the
// outcome.
func (l *limitListener) trackRequests(handlers Handlers) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(connKey{}).(*limitedConn)
		if c.secure != nil {
			r.TLS = c.secure // net/http does not know it; see http2Conn
		}
		open := c.requests.open.Add(1)
		c.requests.begun.Add(1)
		select {
		case c.requests.begins <- struct{}{}:
		default:
		}
		t := &trackedRequest{ResponseWriter: w, body: r.Body, limited: c, conn: &c.requests}
		if r.ProtoMajor == 2 {
			control := http.NewResponseController(w)
			t.readBy, t.writeBy = &streamDeadline{pass: control.SetReadDeadline}, &streamDeadline{pass: control.SetWriteDeadline}
			defer t.readBy.set(time.Time{})
			defer t.writeBy.set(time.Time{})
		}
		defer func() {
			c.requests.madeProgress()
			c.requests.open.Add(-1)
		}()
		if !c.state.CompareAndSwap(connWaiting, connActive) && c.state.Load() == connDropped {
			panic(http.ErrAbortHandler)
		}
		handler := handlers.Serve
		if open > 1 {
			extra := l.extra.Add(1)
			defer l.extra.Add(-1)
			if extra > maxExtraRequests/4*3 {
				l.dropStalled()
			}
			isMany := extra > maxExtraRequests && open > fewRequests && !handlers.IsProbe(r)
			// A client that reads none of its responses would not read a refusal either.
			if extra > maxExtraRequests+extraReserve || isMany && c.requests.waiting.Load() >= open-1 {
				c.Close()
				panic(http.ErrAbortHandler)
			}
			if isMany {
				handler = handlers.Refuse
			}
		}
		if r.ContentLength != 0 {
			c.requests.madeProgress() // the wait for the body begins now
			// Change a copy of r, because net/http needs the original body to end the connection properly.
			r = r.WithContext(r.Context())
			r.Body = trackedBody{t}
		}
		handler.ServeHTTP(t, r)
		t.begin()
		if t.wrote && r.ProtoMajor == 2 {
			// Over HTTP/2, the response to a client that does not read would otherwise be sent after this handler has
			// returned. The request would then no longer be counted.
			t.FlushError()
		}
	})
}

// dropStalled closes one connection that has several requests in progress and whose client neither sends nor
// reads.
func (l *limitListener) dropStalled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(
		func(*limitedConn) time.Duration { return extraMinAge },
		func(c *limitedConn) bool { return c.isStalled() && c.requests.open.Load() > 1 },
		false,
	)
}

// trackedRequest is the ResponseWriter and the body of one request. It records when the client makes progress.
type trackedRequest struct {
	http.ResponseWriter
	readBy  *streamDeadline // nil over HTTP/1
	writeBy *streamDeadline // nil over HTTP/1
	body    io.ReadCloser
	limited *limitedConn
	conn    *connRequests
	begun   bool // whether the header is complete
	wrote   bool
	read    int // the number of bytes of the body read since the client last made progress
}

// begin completes the header: it tells the client whether this is the last response on the connection. Over HTTP/2,
// net/http sends a GOAWAY frame instead, and the other requests on the connection continue.
func (t *trackedRequest) begin() {
	if t.begun {
		return
	}
	if t.begun = true; t.limited.listener.closesAfterResponse(t.limited) {
		t.Header().Set("Connection", "close")
	}
}

// WriteHeader sends the status and the header.
func (t *trackedRequest) WriteHeader(status int) {
	t.begin()
	t.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the response in small steps, so that a client that reads slowly counts as making
// progress.
func (t *trackedRequest) Write(p []byte) (written int, err error) {
	t.begin()
	t.wrote = true
	for {
		step := p[written:min(len(p), written+progressStep)]
		t.conn.madeProgress() // the wait for the client begins now
		t.conn.written.Add(1)
		t.conn.waiting.Add(1)
		n, err := t.ResponseWriter.Write(step)
		t.conn.waiting.Add(-1)
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// FlushError sends the buffered part of the response.
func (t *trackedRequest) FlushError() error {
	t.begin()
	t.conn.madeProgress()
	t.conn.written.Add(1)
	t.conn.waiting.Add(1)
	err := http.NewResponseController(t.ResponseWriter).Flush()
	t.conn.waiting.Add(-1)
	t.conn.madeProgress()
	return err
}

// Unwrap gives http.ResponseController access to the underlying ResponseWriter.
func (t *trackedRequest) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// trackedBody is the body of a request. The client counts as making progress only when it has sent another
// progressStep bytes or the end of the body.
type trackedBody struct{ *trackedRequest }

func (b trackedBody) Read(p []byte) (int, error) {
	b.conn.waiting.Add(1)
	n, err := b.body.Read(p)
	b.conn.waiting.Add(-1)
	if b.read += n; b.read >= progressStep || err != nil {
		b.read = 0
		b.conn.madeProgress()
	}
	return n, err
}

func (b trackedBody) Close() error { return b.body.Close() }
