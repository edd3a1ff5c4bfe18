package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/programtest"
)

// busyClient sends requests on one connection until its context ends. It opens another connection only after the server
// has closed the current one.
func busyClient(ctx context.Context, transport *http.Transport, url string) {
	client := &http.Client{Transport: transport}
	defer transport.CloseIdleConnections()
	for ctx.Err() == nil {
		request, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
		response, err := client.Do(request)
		if err != nil {
			continue // the server has dropped the connection, which may happen if this client pauses
		}
		io.Copy(io.Discard, response.Body) // fails only if the context has ended
		response.Body.Close()
	}
}

// A new client is served even if all connections belong to clients that send requests without a pause.
func TestBusyConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			const limit = 5
			config, newTransport, scheme := Config{MaxConnections: limit}, func() *http.Transport { return &http.Transport{} }, "http://"
			if protocol == "HTTP/2.0" {
				r := newReloading(t, overwriteFiles)
				config.Certificate, newTransport, scheme = r.Certificate, r.authority.Transport, "https://"
			}
			s, addr := startServer(t, config, func(http.ResponseWriter, *http.Request) {})
			ctx, cancel := context.WithCancel(t.Context())
			var clients sync.WaitGroup
			defer clients.Wait()
			defer cancel()
			for range limit {
				clients.Go(func() { busyClient(ctx, newTransport(), scheme+addr) })
			}
			programtest.Await(t, "all connections to be in use", func() bool {
				s.listener.mu.Lock()
				defer s.listener.mu.Unlock()
				return len(s.listener.open) == limit
			})
			patience, stop := context.WithTimeout(ctx, 2*time.Minute)
			defer stop()
			for range 4 * limit {
				transport := newTransport()
				programtest.Await(t, "a new client to be served", func() bool {
					request, _ := http.NewRequestWithContext(patience, "GET", scheme+addr, nil)
					response, err := transport.RoundTrip(request)
					if err != nil && patience.Err() != nil {
						t.Fatal("the new clients were not served within two minutes: ", err)
					}
					if err != nil {
						return false // the server may drop this connection if its first request takes long to arrive
					}
					response.Body.Close()
					if response.Proto != protocol {
						t.Fatalf("it is %s, want %s", response.Proto, protocol)
					}
					return true
				})
				defer transport.CloseIdleConnections()
			}
			if s.droppedConns(reasonRotated) == 0 {
				t.Error("no connection was closed after a response")
			}
		})
	}
}

// At the limit, a client keeps its connection as long as no other client needs a place. When another client needs one,
// the first client still gets the whole response to its request. That response says that the connection will be closed.
func TestConnectionIsClosedOnlyIfItsPlaceIsWanted(t *testing.T) {
	t.Parallel()
	var working, closed atomic.Int64
	release := make(chan struct{})
	s, addr := startServer(t, Config{MaxConnections: 2}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/work" {
			working.Add(1)
			<-release
		}
		io.WriteString(w, "complete")
	})
	get := func(client *http.Client, path string) (closes bool) {
		response, err := client.Get("http://" + addr + path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return false
		}
		defer response.Body.Close()
		if body, err := io.ReadAll(response.Body); string(body) != "complete" {
			t.Errorf("%s: got %q, %v", path, body, err)
		}
		return response.Close
	}
	var clients []*http.Client
	for range 2 {
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		clients = append(clients, &http.Client{Transport: transport})
	}
	for range 2 { // the second time, all places are taken
		for _, client := range clients {
			if get(client, "/") {
				t.Error("a connection was closed, although nobody needed its place")
			}
		}
	}
	var requests sync.WaitGroup
	for _, client := range clients {
		requests.Go(func() {
			if get(client, "/work") {
				closed.Add(1)
			}
		})
	}
	programtest.Await(t, "both connections to be active", func() bool { return working.Load() == 2 })
	newcomer, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer newcomer.Close()
	programtest.Await(t, "the new connection to need a place", s.listener.wanted.Load)
	close(release)
	if requests.Wait(); closed.Load() == 0 {
		t.Error("both connections were kept, although another client needed a place")
	}
}

// Networks that have many connections lose theirs first. If all networks have the same number, a connection from any of
// them may be closed.
func TestCrowdedNetworksLoseTheirConnectionsFirst(t *testing.T) {
	t.Parallel()
	l := newLimitListener(100)
	add := func(address string, count int) (c *limitedConn) {
		for range count {
			c = &limitedConn{listener: l, network: networkOf(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address)))}
			l.open[c] = struct{}{}
			l.byNetwork[c.network]++
		}
		return c
	}
	wantClosed := func(c *limitedConn, want bool) {
		t.Helper()
		if got := l.closesAfterResponse(c); got != want {
			t.Errorf("a connection from %s is closed: got %v, want %v", c.network, got, want)
		}
	}
	many, few := add("192.0.2.1:1000", 10), add("[::ffff:192.0.2.2]:1000", 2)
	wantClosed(many, false)
	l.wanted.Store(true)
	wantClosed(many, true)
	wantClosed(few, false)
	few.accepted = time.Now().Add(-time.Hour)
	if many.accepted = time.Now(); !l.dropsBefore(many, few) || l.dropsBefore(few, many) {
		t.Error("the older connection of the network with few is dropped first")
	}
	add("192.0.2.2:1000", 8)
	wantClosed(many, true)
	wantClosed(few, true)
	// All IPv6 addresses that share their first 64 bits count as one host.
	add("[2001:db8::1]:1000", 20)
	host := add("[2001:db8::ffff:1]:1000", 20)
	wantClosed(host, true)
	wantClosed(many, false)
	l.remove(host)
	l.remove(host) // a second call has no effect
	if got := l.byNetwork[host.network]; got != 39 || len(l.open) != 59 || len(l.ended) != 1 || l.wanted.Load() {
		t.Errorf("after a connection ended: %d in its network, %d in total, wanted %v", got, len(l.open), l.wanted.Load())
	}
}
