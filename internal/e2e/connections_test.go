package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// openConnection opens a connection to the service and sends data, which is usually only part of a request.
func openConnection(p *programtest.Program, data string) net.Conn {
	p.T.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	must(p.T, err)
	p.T.Cleanup(func() { connection.Close() })
	connection.SetDeadline(time.Now().Add(programtest.WaitTimeout))
	io.WriteString(connection, data) // an error means only that the service has closed the connection
	return connection
}

// follow opens an event stream and reads its first line.
func follow(p *programtest.Program, ctx context.Context) *bufio.Reader {
	p.T.Helper()
	request, err := http.NewRequestWithContext(ctx, "GET", p.URL+"/v1/events", nil)
	must(p.T, err)
	request.Header = http.Header{"Authorization": {"Bearer " + programtest.AdminKey}, "Accept": {"text/event-stream"}}
	response, err := p.Client.Do(request)
	must(p.T, err)
	p.T.Cleanup(func() { response.Body.Close() })
	lines := bufio.NewReader(response.Body)
	if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "retry: ") {
		p.T.Fatalf("first line of the stream: got %q, %v, want a retry field", line, err)
	}
	return lines
}

// TestWaitingConnectionsAreDroppedAtTheLimit opens more idle and slow connections than the limit allows. The
// service must drop some of them, serve complete requests and keep an open stream running.
func TestWaitingConnectionsAreDroppedAtTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 20
	p := programtest.NewFolderWithKey(t).Serve("--max-connections", strconv.Itoa(limit))
	stream := follow(p, t.Context())
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() {
			c := newClient(t, p.URL, &http.Transport{DisableKeepAlives: true}, client.WithRetries(0))
			for i := range 30 {
				if _, err := c.CreatePet(t.Context(), client.NewPet{Name: "Rex"}); err != nil {
					t.Errorf("request %d: %v", i, err)
				}
			}
		})
	}
	for i := range 3 * limit {
		openConnection(p, []string{"", "GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Slow: ", "\x16\x03\x01"}[i%3])
	}
	clients.Wait()
	if open := p.Metric("animalstore_connections"); open > limit {
		t.Errorf("open connections: got %v, want at most %d", open, limit)
	}
	if dropped := p.Metric(`animalstore_connections_dropped_total{reason="waiting"}`); dropped == 0 {
		t.Error("dropped waiting connections: got 0, want more")
	}
	for line := ""; !strings.Contains(line, `"subject":"pets/90"`); { // the stream must still be open
		var err error
		if line, err = stream.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}

// TestActiveConnectionsAreNotDropped uses every allowed connection for a stream. The service must then refuse
// new connections until a stream ends.
func TestActiveConnectionsAreNotDropped(t *testing.T) {
	t.Parallel()
	const limit = 3
	p := programtest.NewFolderWithKey(t).Serve("--max-connections", strconv.Itoa(limit))
	p.Client.CloseIdleConnections()
	first, closeFirst := context.WithCancel(t.Context())
	defer closeFirst()
	follow(p, first)
	for range limit - 1 {
		follow(p, t.Context())
	}
	connection := openConnection(p, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
	if data, err := io.ReadAll(connection); len(data) > 0 {
		t.Errorf("a connection above the limit: got %q, %v, want no response", data, err)
	}
	closeFirst()
	programtest.Await(t, "a free connection", func() bool {
		a, err := p.Try("GET", "/livez", "", "")
		return err == nil && a.Status == http.StatusOK
	})
	if refused := p.Metric(`animalstore_connections_dropped_total{reason="refused"}`); refused < 1 {
		t.Errorf("refused connections: got %v, want at least 1", refused)
	}
}

// TestStalledClientsAreDisconnected opens connections that send their headers or bodies one byte at a time and
// connections that never read a response. The service must close all of them and serve other clients meanwhile. If
// the service does not read a body, the client that is sending it must not delay the shutdown.
func TestStalledClientsAreDisconnected(t *testing.T) {
	t.Parallel()
	p := programtest.NewFolderWithKey(t).Serve()
	var stalled []net.Conn
	// This request has no key, so the service refuses it before reading the body.
	const unread = "POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n{"
	for _, start := range []string{
		unread,
		"OPTIONS /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n{",
		"GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Slow: ",
		"POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + programtest.AdminKey + "\r\nContent-Length: 60000\r\n\r\n{",
	} {
		for range 5 {
			stalled = append(stalled, openConnection(p, start))
		}
	}
	// These clients send requests but never read a response. They may take a long time to notice that they were
	// disconnected, so the test waits below until the service counts only the connection of the test itself.
	for _, request := range []string{"OPTIONS /v1/pets HTTP/1.1\r\n", "GET /v1/openapi.json HTTP/1.1\r\nIf-None-Match: *\r\n"} {
		connection := openConnection(p, "")
		connection.(*net.TCPConn).SetReadBuffer(4 << 10)
		requests := []byte(strings.Repeat(request+"Host: x\r\n\r\n", 1000))
		go func() {
			for {
				if _, err := connection.Write(requests); err != nil {
					return // the service closed the connection, or the test ended
				}
			}
		}()
	}
	open := func() int { return int(p.Metric("animalstore_connections")) }
	programtest.Await(t, "all clients to be connected", func() bool { return open() > len(stalled) })
	programtest.Await(t, "all other connections to be closed", func() bool {
		for _, connection := range stalled {
			connection.Write([]byte("x")) // this byte does not complete the request
		}
		p.Create(programtest.Pet{Name: "Rex"}) // other clients must still be served
		time.Sleep(500 * time.Millisecond)
		return open() <= 1
	})
	connection := openConnection(p, unread)
	if _, err := connection.Read(make([]byte, 1)); err != nil { // the response arrives although the body is incomplete
		t.Fatal(err)
	}
	p.Stop()
}

// stallingConn is a connection on which Read blocks forever once the stalled channel is closed.
type stallingConn struct {
	net.Conn
	stalled chan struct{}
}

func (s stallingConn) Read(p []byte) (int, error) {
	select {
	case <-s.stalled:
		select {} // block until the test process exits
	default:
	}
	return s.Conn.Read(p)
}

// TestShutdownDisconnectsStuckReaders stops the service while HTTP/2 clients keep streams open but no longer
// read from them. The service must disconnect these clients and exit normally.
func TestShutdownDisconnectsStuckReaders(t *testing.T) {
	t.Parallel()
	a, f := programtest.NewAuthority(t), programtest.NewFolderWithKey(t)
	p := f.ServeTLS(a)
	stalled := make(chan struct{})
	transport := a.Transport()
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			connection.(*net.TCPConn).SetReadBuffer(4 << 10)
		}
		return stallingConn{connection, stalled}, err
	}
	readers := &programtest.Program{T: t, URL: p.URL, Client: &http.Client{Transport: transport}}
	for range 20 { // all streams share one connection
		follow(readers, t.Context())
	}
	close(stalled)
	// For each animal, every reader is sent two events of about 1,000 bytes. Together, these events exceed the
	// connection's buffers.
	for i := range 400 {
		p.Create(programtest.Pet{Name: fmt.Sprintf("%d %s", i, strings.Repeat("é", 190)), CategoryID: int64(i)})
	}
	p.Stop()
}
