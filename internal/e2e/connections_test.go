package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// openConnection connects and says something that is not a request yet.
func (p *program) openConnection(data string) net.Conn {
	p.t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { connection.Close() })
	io.WriteString(connection, data) // it may have been closed already
	return connection
}

// follow opens a stream of events and reads its beginning.
func (p *program) follow(ctx context.Context) *bufio.Reader {
	p.t.Helper()
	request, err := http.NewRequestWithContext(ctx, "GET", p.url+"/v1/events", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header = http.Header{"Authorization": {"Bearer " + adminKey}, "Accept": {"text/event-stream"}}
	response, err := p.client.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { response.Body.Close() })
	lines := bufio.NewReader(response.Body)
	if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "retry: ") {
		p.t.Fatalf("a stream begins with %q, %v", line, err)
	}
	return lines
}

// metric is the value of a metric without labels.
func (p *program) metric(name string) float64 {
	p.t.Helper()
	_, rest, found := strings.Cut(p.get("/metrics").body, "\n"+name+" ")
	text, _, _ := strings.Cut(rest, "\n")
	value, err := strconv.ParseFloat(text, 64)
	if !found || err != nil {
		p.t.Fatalf("there is no metric %s: %v", name, err)
	}
	return value
}

// TestWaitingConnectionsAreDroppedAtTheLimit fills the service with connections that do nothing, or little; whoever has something to say is served.
func TestWaitingConnectionsAreDroppedAtTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 20
	p := newFolderWithKey(t).serve("--max-connections", strconv.Itoa(limit))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := p.follow(ctx)
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() {
			noKeepAlive := &program{t: t, url: p.url, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}}
			for i := range 30 {
				if a, err := noKeepAlive.try("POST", "/v1/pets", adminKey, pet{Name: "Rex"}.json()); err != nil || a.status != http.StatusCreated {
					t.Errorf("request %d: %v %v", i, a, err)
				}
			}
		})
	}
	for i := range 3 * limit {
		p.openConnection([]string{"", "GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Slow: ", "\x16\x03\x01"}[i%3])
	}
	clients.Wait()
	if open := p.metric("animalstore_connections"); open > limit {
		t.Errorf("%v connections are open", open)
	}
	if dropped := p.metric(`animalstore_connections_dropped_total{reason="waiting"}`); dropped == 0 {
		t.Errorf("%v connections made room", dropped)
	}
	for { // what was being answered all the time has gone on
		line, err := stream.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, `"subject":"pets/90"`) {
			break
		}
	}
}

// TestConnectionLimitLeavesFilesForDatabase gives the service few files to open: it leaves enough of them to its database, however many clients come.
func TestConnectionLimitLeavesFilesForDatabase(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	command := exec.Command("sh", "-c", "ulimit -n 128 && exec "+binary+" serve --addr 127.0.0.1:0")
	command.Dir, command.Env = f.dir, f.environment()
	output := &transcript{}
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	p := f.watch(command, output)
	p.awaitReady()
	if !strings.Contains(output.String(), "connection limit lowered") {
		t.Error("the log does not say so")
	}
	for range 200 {
		p.openConnection("GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	}
	for range 20 {
		p.client.CloseIdleConnections()
		p.create(pet{Name: "Rex"})
	}
	if limit := p.metric("animalstore_connections_limit"); limit != 96 {
		t.Errorf("%v connections may be open", limit)
	}
}

// TestActiveConnectionsAreNotDropped has a client on every connection who is being answered: nobody is cut off for another.
func TestActiveConnectionsAreNotDropped(t *testing.T) {
	t.Parallel()
	const limit = 3
	p := newFolderWithKey(t).serve("--max-connections", strconv.Itoa(limit))
	p.client.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, closeFirst := context.WithCancel(ctx)
	defer closeFirst()
	p.follow(first)
	for range limit - 1 {
		p.follow(ctx)
	}
	connection := p.openConnection("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
	if data, err := io.ReadAll(connection); len(data) > 0 {
		t.Errorf("there was no room, and still %q, %v", data, err)
	}
	closeFirst()
	await(t, "room", func() bool {
		a, err := p.try("GET", "/livez", "", "")
		return err == nil && a.status == http.StatusOK
	})
	if refused := p.metric(`animalstore_connections_dropped_total{reason="refused"}`); refused < 1 {
		t.Errorf("%v connections were refused", refused)
	}
}

// TestClientsThatReadNothingAreDisconnected asks again and again for what needs no key and has no body, and reads none of the answers: it is cut off.
// Its own side may not hear of that for long, so the service is asked.
func TestClientsThatReadNothingAreDisconnected(t *testing.T) {
	t.Parallel()
	p := newFolderWithKey(t).serve()
	for _, request := range []string{"OPTIONS /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n", "GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\n\r\n"} {
		connection := p.openConnection("")
		connection.(*net.TCPConn).SetReadBuffer(4 << 10)
		requests := []byte(strings.Repeat(request, 1000))
		go func() {
			for {
				if _, err := connection.Write(requests); err != nil {
					return // it was cut off, or the test is over
				}
			}
		}()
	}
	await(t, "both to be there", func() bool { return p.metric("animalstore_connections") >= 3 })
	await(t, "both to be cut off", func() bool { return p.metric("animalstore_connections") < 2 })
}

// stallingConn is a connection from which nothing more is read once it is told so.
type stallingConn struct {
	net.Conn
	stalled chan struct{}
}

func (s stallingConn) Read(p []byte) (int, error) {
	select {
	case <-s.stalled:
		select {} // the goroutine ends with the test program
	default:
	}
	return s.Conn.Read(p)
}

// TestShutdownDisconnectsStuckReaders stops a service some of whose clients take nothing any more, over HTTP/2: they are cut off, and it
// ends in peace.
func TestShutdownDisconnectsStuckReaders(t *testing.T) {
	t.Parallel()
	a, f := newAuthority(t), newFolderWithKey(t)
	p := f.serveTLS(a)
	stalled := make(chan struct{})
	transport := a.transport()
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			connection.(*net.TCPConn).SetReadBuffer(4 << 10)
		}
		return stallingConn{connection, stalled}, err
	}
	readers := &program{t: t, url: p.url, client: &http.Client{Transport: transport}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 20 { // they share a connection
		readers.follow(ctx)
	}
	close(stalled)
	for i := range 1000 { // of which each reader is sent two events of some 1,000 bytes: more than the connection holds
		p.create(pet{Name: fmt.Sprintf("%d %s", i, strings.Repeat("é", 190)), CategoryID: int64(i)})
	}
	p.signal(syscall.SIGTERM)
	if code := p.exitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
