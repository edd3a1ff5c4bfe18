package server

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"animalstore/internal/programtest"
)

// http2Client is a client that sends single HTTP/2 frames.
type http2Client struct {
	*http2.Framer
	t    *testing.T
	conn net.Conn
}

// newHTTP2Client connects to a server with TLS and sends the text start. If it is empty, newHTTP2Client sends the
// frames with which every client starts.
func newHTTP2Client(t *testing.T, r *reloading, addr, start string) http2Client {
	t.Helper()
	raw, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	raw.SetDeadline(time.Now().Add(programtest.WaitTimeout))
	config := r.authority.Transport().TLSClientConfig.Clone()
	config.ServerName, config.NextProtos = "localhost", []string{"h2"}
	secure := tls.Client(raw, config)
	c := http2Client{http2.NewFramer(secure, secure), t, raw}
	if start != "" {
		_, err = io.WriteString(secure, start)
	} else if _, err = io.WriteString(secure, http2.ClientPreface); err == nil {
		err = c.WriteSettings()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// get sends a request.
func (c http2Client) get(stream uint32, path string) {
	c.t.Helper()
	c.begin(stream, "GET", path, true)
}

// begin sends the header of a request. If end is false, a body follows.
func (c http2Client) begin(stream uint32, method, path string, end bool) {
	c.t.Helper()
	if err := c.tryBegin(stream, method, path, end); err != nil {
		c.t.Fatal(err)
	}
}

// tryBegin is like begin, but returns the error of a connection that was closed.
func (c http2Client) tryBegin(stream uint32, method, path string, end bool) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range []hpack.HeaderField{
		{Name: ":method", Value: method}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "localhost"}, {Name: ":path", Value: path},
	} {
		encoder.WriteField(field) // cannot fail, because the block is in memory
	}
	return c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
}

// await reads frames until one satisfies the condition.
func (c http2Client) await(what string, condition func(http2.Frame) bool) {
	c.t.Helper()
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			c.t.Fatalf("%v before %s", err, what)
		}
		if condition(frame) {
			return
		}
	}
}

func (c http2Client) awaitResponse(stream uint32) {
	c.t.Helper()
	c.await("the response", func(f http2.Frame) bool {
		_, isHeaders := f.(*http2.HeadersFrame)
		return isHeaders && f.Header().StreamID == stream
	})
}

// ping sends PING frames.
func (c http2Client) ping(n int) error {
	for range n {
		if err := c.WritePing(false, [8]byte{}); err != nil {
			return err
		}
	}
	return nil
}

// A client that makes the server send control frames only is disconnected. A client that also sends requests is not.
func TestControlFramesAreLimited(t *testing.T) {
	t.Parallel()
	r := newReloading(t, overwriteFiles)
	s, addr := startServer(t, Config{MaxConnections: 10, Certificate: r.Certificate}, func(http.ResponseWriter, *http.Request) {})
	c := newHTTP2Client(t, r, addr, "")
	for stream := uint32(1); stream < 20; stream += 2 {
		if err := c.ping(maxControl / 2); err != nil {
			t.Fatal(err)
		}
		c.get(stream, "/")
		c.awaitResponse(stream)
	}
	go c.ping(10 * maxControl) // fails when the server closes the connection
	for answers := 0; ; {
		frame, err := c.ReadFrame()
		if err != nil {
			if s.droppedConns(reasonFlooded) != 1 {
				t.Errorf("got %v, but no connection is counted as flooded", err)
			}
			return
		}
		if _, isPing := frame.(*http2.PingFrame); isPing {
			answers++
		}
		if answers > 2*maxControl { // net/http may have written several frames at once
			t.Fatalf("the client got more than %d answers", 2*maxControl)
		}
	}
}

// pipedFrames is the number of frames that the client of an HTTP/2 pipe tries to send.
const pipedFrames = 10 * maxUnanswered

// newHTTP2Pipe returns a connection of a server and its client. The client has sent the preface. After a call of flood,
// it sends its frames as fast as the server reads them. read returns the number of frames that the server has read.
func newHTTP2Pipe(t *testing.T) (server *http2Conn, client net.Conn, flood func(), read func() int64) {
	t.Helper()
	server, client, read = newHTTP2PipeOn(t, &limitedConn{})
	return server, client, sync.OnceFunc(func() {
		go func() {
			framer := http2.NewFramer(client, nil)
			for sent := 0; sent < pipedFrames && framer.WritePing(false, [8]byte{}) == nil; sent++ {
			}
		}()
	}), read
}

// newHTTP2PipeOn is like newHTTP2Pipe, but the client sends nothing by itself.
func newHTTP2PipeOn(t *testing.T, limited *limitedConn) (server *http2Conn, client net.Conn, read func() int64) {
	t.Helper()
	client, raw := net.Pipe()
	server = newHTTP2Conn(raw, limited)
	t.Cleanup(func() { server.Close(); client.Close() })
	go io.WriteString(client, clientPreface)
	if _, err := io.ReadFull(server, make([]byte, len(clientPreface))); err != nil {
		t.Fatal(err)
	}
	var frames atomic.Int64
	go func() {
		for framer := http2.NewFramer(nil, server); ; frames.Add(1) {
			if _, err := framer.ReadFrame(); err != nil {
				return
			}
		}
	}()
	return server, client, frames.Load
}

// While the client does not read, the server reads a limited number of its frames. It reads as many again after a part
// of a response or a window update of a stream, because net/http has then sent all control frames.
func TestUnansweredFramesAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client, flood, read := newHTTP2Pipe(t)
		framer := http2.NewFramer(server, nil)
		var last int64
		// wantAfter writes a frame, which the client does not read for a long time, and checks how many frames the
		// server has read meanwhile.
		wantAfter := func(write func() error, want int64) {
			t.Helper()
			failed := make(chan error)
			go func() { failed <- write() }()
			synctest.Wait()
			flood()
			time.Sleep(time.Hour + answerWait/2)
			if got := read() - last; got != want {
				t.Errorf("the server has read %d frames, want %d", got, want)
			}
			last = read()
			if _, err := http2.NewFramer(nil, client).ReadFrame(); err != nil {
				t.Fatal(err)
			}
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
		}
		answer := func() error { return framer.WritePing(true, [8]byte{}) }
		wantAfter(answer, maxUnanswered)
		wantAfter(answer, 1)
		wantAfter(func() error { return framer.WriteData(1, false, []byte("response")) }, maxUnanswered)
		wantAfter(answer, 1)
		wantAfter(func() error { return framer.WriteWindowUpdate(1, 100) }, maxUnanswered)
		wantAfter(func() error { return framer.WriteWindowUpdate(0, 100) }, 1)
	})
}

// A client may send any number of frames that need no answer.
func TestFramesWithoutAnswersDoNotBlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, _, flood, read := newHTTP2Pipe(t)
		flood()
		time.Sleep(time.Hour)
		if got := read(); got != pipedFrames {
			t.Errorf("the server has read %d frames, want %d", got, pipedFrames)
		}
	})
}

// A request over HTTP/2 has the state of its TLS connection.
func TestHTTP2RequestsHaveTLSState(t *testing.T) {
	t.Parallel()
	r := newReloading(t, overwriteFiles)
	states := make(chan *tls.ConnectionState, 1)
	_, addr := startServer(t, Config{MaxConnections: 10, Certificate: r.Certificate}, func(_ http.ResponseWriter, r *http.Request) { states <- r.TLS })
	c := newHTTP2Client(t, r, addr, "")
	c.get(1, "/")
	c.awaitResponse(1)
	if state := <-states; state == nil || state.NegotiatedProtocol != "h2" || state.ServerName != "localhost" {
		t.Errorf("got %+v, want the state of the connection", state)
	}
}

// A client that has chosen HTTP/2 but sends something else gets no response.
func TestHTTP2NeedsItsPreface(t *testing.T) {
	t.Parallel()
	r := newReloading(t, overwriteFiles)
	_, addr := startServer(t, Config{MaxConnections: 10, Certificate: r.Certificate}, func(http.ResponseWriter, *http.Request) {
		t.Error("the handler was called")
	})
	for _, start := range []string{
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		http2.ClientPreface[:16] + "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		c := newHTTP2Client(t, r, addr, start)
		if frame, err := c.ReadFrame(); err == nil {
			t.Errorf("%q: got %v, want a closed connection", start, frame)
		}
	}
}

// A client that sends only a part of its preface in time is disconnected.
func TestHTTP2NeedsItsWholePreface(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, raw := net.Pipe()
		defer client.Close()
		server := newHTTP2Conn(raw, &limitedConn{})
		go io.WriteString(client, clientPreface[:20])
		server.SetReadDeadline(time.Now().Add(readHeaderTimeout))
		if n, err := io.ReadFull(server, make([]byte, len(clientPreface))); n != 20 || err != io.ErrUnexpectedEOF {
			t.Errorf("got %d bytes and %v, want 20 bytes and an unexpected EOF", n, err)
		}
		if _, err := io.WriteString(client, clientPreface[20:]); err == nil {
			t.Error("the connection is still open")
		}
	})
}

func TestFrameCounterFindsEveryFrame(t *testing.T) {
	t.Parallel()
	var stream bytes.Buffer
	framer := http2.NewFramer(&stream, nil)
	framer.WriteSettings()
	framer.WriteData(3, false, make([]byte, 300))
	framer.WritePing(false, [8]byte{})
	framer.WriteData(1, true, nil)
	stream.Bytes()[stream.Len()-4] |= 0x80 // the reserved bit of the stream's id
	want := []frame{{byte(http2.FrameSettings), 0, 0}, {byte(http2.FrameData), 3, 300}, {byte(http2.FramePing), 0, 8}, {byte(http2.FrameData), 1, 0}}
	for size := 1; size <= stream.Len(); size++ {
		var counter frameCounter
		var got []frame
		for part := range slices.Chunk(stream.Bytes(), size) {
			counter.count(part, func(f frame) { got = append(got, f) })
		}
		if !slices.Equal(got, want) {
			t.Fatalf("in parts of %d bytes: got the frames %v, want %v", size, got, want)
		}
	}
}
