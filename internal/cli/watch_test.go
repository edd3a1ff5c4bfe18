package cli

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// held answers each request when it is told to, and says when one begins and what ended it.
type held struct {
	began chan context.Context
	end   chan struct{}
}

func (h held) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	io.ReadAll(r.Body)
	h.began <- r.Context()
	select {
	case <-r.Context().Done():
	case <-h.end:
	}
}

// serveHeld serves requests that are held.
func serveHeld(t *testing.T) (*connections, held) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all, h := newConnections(10), held{make(chan context.Context), make(chan struct{})}
	all.Listener = listener
	server := &http.Server{Handler: all.mark(h), ConnContext: all.remember, ConnState: all.changed}
	go server.Serve(all)
	t.Cleanup(func() { server.Close() })
	return all, h
}

// ask sends the beginning of a request, or all of it.
func ask(t *testing.T, all *connections, text string) *net.TCPConn {
	t.Helper()
	client, err := net.Dial("tcp", all.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if _, err := io.WriteString(client, text); err != nil {
		t.Fatal(err)
	}
	return client.(*net.TCPConn)
}

const (
	getRequest  = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	postRequest = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
)

// A request ends when its client goes, however it goes, and not before.
func TestAClientThatGoes(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*net.TCPConn) error{
		"closes":          (*net.TCPConn).Close,
		"says no more":    (*net.TCPConn).CloseWrite,
		"breaks off":      func(c *net.TCPConn) error { c.SetLinger(0); return c.Close() },
		"sends and stays": nil,
	} {
		for _, request := range []string{getRequest, postRequest} {
			t.Run(name+" after "+request[:4], func(t *testing.T) {
				t.Parallel()
				all, h := serveHeld(t)
				client := ask(t, all, request)
				ctx := <-h.began
				all.pass(time.Now())
				if ctx.Err() != nil {
					t.Fatal("the request of a client that waits was ended")
				}
				if leave == nil {
					if _, err := io.WriteString(client, getRequest); err != nil { // the next one, ahead of time
						t.Fatal(err)
					}
					for range 3 {
						all.pass(time.Now())
					}
					h.end <- struct{}{}
					next := <-h.began
					if next.Err() != nil {
						t.Error("the next request was ended")
					}
					h.end <- struct{}{}
					return
				}
				if err := leave(client); err != nil {
					t.Fatal(err)
				}
				for ctx.Err() == nil {
					all.pass(time.Now())
				}
			})
		}
	}
}

// A connection that is kept serves one request after the other, and each ends when its client goes.
func TestAClientThatGoesLater(t *testing.T) {
	t.Parallel()
	all, h := serveHeld(t)
	client := ask(t, all, getRequest)
	for range 3 {
		<-h.began
		h.end <- struct{}{}
		if _, err := client.Read(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(client, postRequest); err != nil {
			t.Fatal(err)
		}
	}
	ctx := <-h.began
	client.Close()
	for ctx.Err() == nil {
		all.pass(time.Now())
	}
}

// Only the read of net/http that waits for the end of the client is let go, and only once for a request.
func TestReadWhileAnswering(t *testing.T) {
	t.Parallel()
	one, client := connect(t, newConnections(10))
	if _, err := client.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		state int32
		room  int
		want  string
	}{{waiting, 1, "a"}, {answering, 1, ""}, {unwatched, 1, "b"}, {answering, 2, "c"}} {
		if !canPeek && step.want == "" {
			continue
		}
		one.state.Store(step.state)
		got := make([]byte, step.room)
		n, err := one.Read(got)
		if err != nil || string(got[:n]) != step.want {
			t.Errorf("in state %d: %q, %v, want %q", step.state, got[:n], err, step.want)
		}
	}
}
