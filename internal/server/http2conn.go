package server

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// http2Conn is a TLS connection whose client has chosen HTTP/2. net/http answers many frames of a client without
// calling the handler: it acknowledges PING and SETTINGS, and resets streams. A client could make it keep 10,000 such
// answers in memory, and send as many as the processors allow. http2Conn therefore counts the frames in both
// directions: it stops reading while too many frames have no answer, and ends the connection of a client that floods it
// (see http2flood.go).
//
// net/http gets the connection as HTTP/2 without TLS, because it would otherwise accept only a *tls.Conn. http2Conn
// therefore has no method ConnectionState, and trackRequests sets http.Request.TLS.
type http2Conn struct {
	net.Conn
	limited    *limitedConn
	preface    int // the number of bytes read of the client's preface
	received   frameCounter
	unanswered atomic.Int64 // frames received and not answered yet
	uncalled   int64        // requests whose handler did not begin in time; net/http may have refused them
	flood      floodCounter
	sending    sync.Mutex // held while frames are written; guards sent and wentAway
	sent       frameCounter
	wentAway   bool // whether the last frame has been sent
	writing    atomic.Bool
	wrote      chan struct{} // has an element if frames have been written
	closed     chan struct{}
	closeOnce  sync.Once
}

const (
	// writeByteTimeout is how long the server waits for an HTTP/2 client that accepts no bytes at all. The deadlines
	// of responses do not suffice. They only reset the stream, and even the reset requires a client that reads.
	writeByteTimeout = 15 * time.Second
	// maxReceiveBuffer is how many bytes of bodies an HTTP/2 client may send on one connection before handlers read
	// them. HTTP/2 does not allow a smaller buffer.
	maxReceiveBuffer = 64 << 10
	// maxStreamsPerConn is the maximum number of requests in progress on one HTTP/2 connection. HTTP/2 recommends at
	// least 100.
	maxStreamsPerConn = 100
	// clientPreface is what every HTTP/2 client sends first.
	clientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	// maxUnanswered is the maximum number of frames that a client may send before it reads the answers. It is more
	// than an ordinary client sends at once: maxStreamsPerConn requests with their bodies.
	maxUnanswered = 250
	// answerWait is how long http2Conn waits for an answer to be written. If none is being written by then, the frames
	// did not need any.
	answerWait = 50 * time.Millisecond
	// maxWaiting is the maximum number of requests on one connection whose handler has not begun yet.
	maxWaiting = 4
)

func newHTTP2Conn(secure net.Conn, limited *limitedConn) *http2Conn {
	return &http2Conn{Conn: secure, limited: limited, flood: newFloodCounter(limited), wrote: make(chan struct{}, 1), closed: make(chan struct{})}
}

func (c *http2Conn) unwrap() *limitedConn { return c.limited }

// Read reads from the connection as soon as the client has read enough answers. It closes the connection if the client
// does not send its whole preface in time, because net/http would otherwise serve it as an HTTP/1 client.
func (c *http2Conn) Read(p []byte) (int, error) {
	if c.received.isBetweenFrames() {
		if err := c.awaitAnswers(); err != nil {
			return 0, err
		}
		if err := c.awaitHandlers(); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Read(p)
	start := p[:min(n, len(clientPreface)-c.preface)]
	if string(start) != clientPreface[c.preface:c.preface+len(start)] {
		c.Close()
		return 0, io.EOF
	}
	if c.preface += len(start); err != nil && c.preface < len(clientPreface) {
		c.Close()
		return 0, io.EOF
	}
	c.received.count(p[len(start):n], func(f frame) {
		c.unanswered.Add(1)
		c.flood.received(f)
	})
	if c.flood.found.Load() {
		c.goAway()
		<-c.closed
		return 0, net.ErrClosed
	}
	return n, err
}

// awaitAnswers waits while too many frames are unanswered. It fails if the connection is closed.
func (c *http2Conn) awaitAnswers() error {
	for c.unanswered.Load() >= maxUnanswered {
		select {
		case <-c.wrote:
		case <-time.After(answerWait):
			if !c.writing.Load() {
				c.unanswered.Store(0)
			}
		case <-c.closed:
			return net.ErrClosed
		}
	}
	return nil
}

// awaitHandlers waits while too many requests wait for their handler to begin. The requests of one client would otherwise
// fill the queue for the processors, in which the requests of all clients wait. It fails if the connection is closed.
func (c *http2Conn) awaitHandlers() error {
	for {
		waiting := c.flood.requests - c.limited.requests.begun.Load()
		c.uncalled = min(c.uncalled, waiting) // a handler may have begun late
		if waiting-c.uncalled < maxWaiting {
			return nil
		}
		select {
		case <-c.limited.requests.begins:
		case <-time.After(answerWait): // net/http has refused the requests, or they wait for others to end
			c.uncalled = waiting
		case <-c.closed:
			return net.ErrClosed
		}
	}
}

// Write sends frames to the client. It ends the connection if the frames belong to a flood.
func (c *http2Conn) Write(p []byte) (int, error) {
	n, err := c.send(p)
	if c.flood.found.Load() {
		c.goAway()
	}
	return n, err
}

func (c *http2Conn) send(p []byte) (int, error) {
	c.sending.Lock()
	defer c.sending.Unlock()
	if c.wentAway {
		return len(p), nil // an error would make net/http close the connection before the client has read why
	}
	c.writing.Store(true)
	defer c.writing.Store(false)
	c.sent.count(p, c.answered)
	select {
	case c.wrote <- struct{}{}:
	default:
	}
	return c.Conn.Write(p)
}

// answered counts a frame that is sent to the client. net/http queues parts of responses and window updates of a stream
// only behind all control frames, so such a frame shows that the client has read the control frames before it.
func (c *http2Conn) answered(f frame) {
	c.flood.sent(f)
	switch {
	case f.kind == dataFrame || f.kind == headersFrame:
		c.unanswered.Store(0)
	case f.kind == windowUpdateFrame && f.stream != 0: // acknowledges a part of the body of a request
		c.unanswered.Store(0)
	case c.unanswered.Load() > 0:
		c.unanswered.Add(-1)
	}
}

// Close closes the connection.
func (c *http2Conn) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// frameCounter finds the HTTP/2 frames in one direction of a connection. Its zero value expects the start of a frame.
type frameCounter struct {
	header  [frameHeaderSize]byte
	read    int // the number of bytes of the header that are known
	payload int // the number of bytes until the next frame starts
}

// frame describes an HTTP/2 frame.
type frame struct {
	kind   byte
	stream uint32 // 0 for a frame about the whole connection
	length int    // the number of bytes of the payload
}

// These are the size of a frame's header and some types of frames.
const (
	frameHeaderSize   = 9 // bytes: three for the length of the payload, one each for the type and the flags, four for the stream
	dataFrame         = 0
	headersFrame      = 1
	resetFrame        = 3
	goAwayFrame       = 7
	windowUpdateFrame = 8
)

func (f *frameCounter) isBetweenFrames() bool { return f.read == 0 && f.payload == 0 }

// count calls found with each frame whose header ends in p. p is the next part of the connection's bytes.
func (f *frameCounter) count(p []byte, found func(frame)) {
	for len(p) > 0 {
		skipped := min(f.payload, len(p))
		f.payload -= skipped
		p = p[skipped:]
		n := copy(f.header[f.read:], p)
		if f.read += n; f.read == frameHeaderSize {
			f.payload = int(f.header[0])<<16 | int(f.header[1])<<8 | int(f.header[2])
			f.read = 0
			const reserved = 1 << 31 // a bit of the stream's id that has no meaning
			found(frame{f.header[3], binary.BigEndian.Uint32(f.header[5:]) &^ reserved, f.payload})
		}
		p = p[n:]
	}
}
