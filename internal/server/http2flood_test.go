package server

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// wantCalm reads frames until the server ends the connection, and checks that the server says why and counts it. step is
// called after each frame that is not the last one, and reports whether to go on.
func (c http2Client) wantCalm(s *Server, last uint32, step func(http2.Frame) bool) {
	c.t.Helper()
	c.await("a GOAWAY frame", func(f http2.Frame) bool {
		away, ok := f.(*http2.GoAwayFrame)
		switch {
		case !ok && !step(f):
			c.t.Fatal("the server has not ended the connection")
		case ok && (away.ErrCode != http2.ErrCodeEnhanceYourCalm || away.LastStreamID > last):
			c.t.Errorf("got %v, want ENHANCE_YOUR_CALM and a stream up to %d", away, last)
		}
		return ok
	})
	if frame, err := c.ReadFrame(); err == nil {
		c.t.Errorf("got %v after the last frame", frame)
	}
	if got := s.droppedConns(reasonFlooded); got != 1 {
		c.t.Errorf("%v connections are counted as flooded, want 1", got)
	}
}

// reset sends a request and resets it.
func (c http2Client) reset(stream uint32, path string) error {
	if err := c.tryBegin(stream, "GET", path, true); err != nil {
		return err
	}
	return c.WriteRSTStream(stream, http2.ErrCodeCancel)
}

// waiting is a handler that responds at once or, if the path is /wait, not before the client has reset the request.
func waiting(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/wait" {
		<-r.Context().Done()
	}
}

// A client that resets its requests before the response, again and again, is disconnected.
func TestResetRequestsAreLimited(t *testing.T) {
	t.Parallel()
	r := newReloading(t, overwriteFiles)
	s, addr := startServer(t, Config{MaxConnections: 10, Certificate: r.Certificate}, waiting)
	c := newHTTP2Client(t, r, addr, "")
	go func() {
		for n := range uint32(1000) {
			if c.reset(2*n+1, "/wait") != nil {
				return
			}
		}
		c.ping(1)
	}()
	c.wantCalm(s, 2000, func(f http2.Frame) bool {
		_, isPing := f.(*http2.PingFrame) // the answer shows that the server has read all resets
		return !isPing
	})
}

// A client may cancel all requests that it may have in progress, and any number of requests if others get a response.
func TestOrdinaryResetsAreAllowed(t *testing.T) {
	t.Parallel()
	r := newReloading(t, overwriteFiles)
	_, addr := startServer(t, Config{MaxConnections: 10, Certificate: r.Certificate}, waiting)
	c := newHTTP2Client(t, r, addr, "")
	stream := uint32(1)
	reset := func() {
		if err := c.reset(stream, "/wait"); err != nil {
			t.Fatal(err)
		}
		stream += 2
	}
	get := func() {
		c.get(stream, "/")
		c.awaitResponse(stream)
		stream += 2
	}
	for range maxStreamsPerConn {
		reset()
	}
	for range maxStreamsPerConn {
		get()
	}
	for range 3 * maxStreamsPerConn {
		get()
		reset()
	}
	get()
}

// A connection is not read while maxWaiting requests wait for their handler to begin. If no handler begins for answerWait,
// none will, and the connection is read again.
func TestRequestsWaitForTheirHandlers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limited := &limitedConn{requests: connRequests{begins: make(chan struct{}, 1)}}
		_, client, read := newHTTP2PipeOn(t, limited)
		go func() {
			c := http2Client{Framer: http2.NewFramer(client, nil), t: t}
			for stream := uint32(1); c.tryBegin(stream, "GET", "/", true) == nil; stream += 2 {
			}
		}()
		want := func(requests int64) {
			t.Helper()
			if synctest.Wait(); read() != requests {
				t.Fatalf("the server has read %d requests, want %d", read(), requests)
			}
		}
		want(maxWaiting)
		for n := range int64(3) {
			limited.requests.begun.Add(1)
			limited.requests.begins <- struct{}{}
			want(maxWaiting + n + 1)
		}
		time.Sleep(answerWait)
		want(2*maxWaiting + 3)
		// Handlers that were late begin after all. They do not let more requests wait than before.
		limited.requests.begun.Add(2 * maxWaiting)
		limited.requests.begins <- struct{}{}
		want(3*maxWaiting + 3)
	})
}

// A client that opens the window of a response by one byte at a time is disconnected.
func TestSmallWindowsAreLimited(t *testing.T) {
	t.Parallel()
	r := newReloading(t, overwriteFiles)
	s, addr := startServer(t, Config{MaxConnections: 10, Certificate: r.Certificate}, func(w http.ResponseWriter, _ *http.Request) {
		w.Write(make([]byte, progressStep))
	})
	c := newHTTP2Client(t, r, addr, "")
	if err := c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		t.Fatal(err)
	}
	c.get(1, "/")
	received := 0
	c.wantCalm(s, 1, func(f http2.Frame) bool {
		switch f.(type) {
		case *http2.HeadersFrame, *http2.DataFrame:
			c.WriteWindowUpdate(1, 1) // fails if the server has closed the connection
			received++
		}
		return received < 1000
	})
}

// A handler may send any number of small parts.
func TestSmallPartsOfAHandlerAreAllowed(t *testing.T) {
	t.Parallel()
	const parts = 1000
	r := newReloading(t, overwriteFiles)
	_, addr := startServer(t, Config{MaxConnections: 10, Certificate: r.Certificate}, func(w http.ResponseWriter, _ *http.Request) {
		for range parts {
			w.Write([]byte("event"))
			http.NewResponseController(w).Flush()
		}
	})
	c := newHTTP2Client(t, r, addr, "")
	c.get(1, "/")
	var got strings.Builder
	c.await("the end of the response", func(f http2.Frame) bool {
		data, ok := f.(*http2.DataFrame)
		if ok {
			got.Write(data.Data())
		}
		return ok && data.StreamEnded()
	})
	if got.String() != strings.Repeat("event", parts) {
		t.Errorf("got %d bytes, want %d", got.Len(), parts*len("event"))
	}
}
