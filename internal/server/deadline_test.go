package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"
	"weak"

	"golang.org/x/net/http2"
)

// A request that was reset by its client does not stay in memory, although its handler has set deadlines after the
// reset.
func TestResetRequestsAreForgotten(t *testing.T) {
	t.Parallel()
	r := newReloading(t, overwriteFiles)
	begun, ended := make(chan weak.Pointer[limitedConn], 1), make(chan struct{})
	_, addr := startServer(t, Config{MaxConnections: 10, Certificate: r.Certificate}, func(w http.ResponseWriter, r *http.Request) {
		begun <- weak.Make(r.Context().Value(connKey{}).(*limitedConn))
		<-r.Context().Done()
		control := http.NewResponseController(w)
		control.SetReadDeadline(time.Now().Add(time.Hour))
		control.SetWriteDeadline(time.Now().Add(time.Hour))
		ended <- struct{}{}
	})
	c := newHTTP2Client(t, r, addr, "")
	c.get(1, "/")
	conn := <-begun
	if err := c.WriteRSTStream(1, http2.ErrCodeCancel); err != nil {
		t.Fatal(err)
	}
	<-ended
	c.conn.Close()
	for range 1000 {
		if runtime.GC(); conn.Value() == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("the memory of the connection was not freed")
}

// Over HTTP/2, a deadline that passes ends reading the body or writing the response. A deadline that was removed or
// replaced does not.
func TestStreamDeadlines(t *testing.T) {
	t.Parallel()
	r := newReloading(t, overwriteFiles)
	failed := make(chan error)
	soon, late := func() time.Time { return time.Now().Add(time.Millisecond) }, func() time.Time { return time.Now().Add(time.Hour) }
	_, addr := startServer(t, Config{MaxConnections: 10, Certificate: r.Certificate}, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		var err error
		switch r.URL.Path {
		case "/read":
			control.SetReadDeadline(late())
			control.SetReadDeadline(soon())
			_, err = r.Body.Read(make([]byte, 1))
		case "/past":
			control.SetReadDeadline(time.Now().Add(-time.Hour))
			_, err = r.Body.Read(make([]byte, 1))
		case "/write":
			control.SetWriteDeadline(soon())
			for err == nil { // the client's window is used up at some point
				_, err = w.Write(make([]byte, 1000))
			}
		case "/removed":
			control.SetReadDeadline(soon())
			control.SetReadDeadline(time.Time{})
			control.SetWriteDeadline(soon())
			control.SetWriteDeadline(late())
			time.Sleep(50 * time.Millisecond)
			if _, err = r.Body.Read(make([]byte, 1)); err == nil {
				_, err = w.Write([]byte("text"))
			}
		}
		failed <- err
	})
	c := newHTTP2Client(t, r, addr, "")
	for i, path := range []string{"/read", "/past", "/write"} {
		c.begin(uint32(2*i+1), "POST", path, false)
		if err := <-failed; path != "/write" && !errors.Is(err, os.ErrDeadlineExceeded) || err == nil || err == io.EOF {
			t.Errorf("%s: got the error %v", path, err)
		}
	}
	c.begin(7, "POST", "/removed", false)
	if err := c.WriteData(7, true, []byte("body")); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err != nil {
		t.Errorf("after the deadlines were removed: %v", err)
	}
	c.awaitResponse(7)
}
