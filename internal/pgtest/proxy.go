package pgtest

import (
	"net"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy forwards connections to a server and can cut or delay them. Its methods may be called concurrently.
type Proxy struct {
	listener net.Listener
	database *url.URL
	running  sync.WaitGroup
	requests atomic.Int64

	mu      sync.Mutex
	server  string // the server's address as host:port
	cut     bool
	delay   time.Duration
	changed chan struct{} // closed when the delay changes
	fault   *fault
	conns   map[*proxyConn]bool
}

// StartProxy starts a proxy for a database and stops it when the test ends. The database's URL must have
// exactly one host and sslmode=disable.
func StartProxy(t testing.TB, database string) *Proxy {
	t.Helper()
	address, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		listener: listener,
		server:   address.Host,
		database: address,
		changed:  make(chan struct{}),
		conns:    map[*proxyConn]bool{},
	}
	address.Host = listener.Addr().String()
	p.running.Go(p.accept)
	t.Cleanup(func() {
		listener.Close()
		p.Cut()
		p.running.Wait()
	})
	return p
}

// Address returns the proxy's address as host:port.
func (p *Proxy) Address() string { return p.database.Host }

// URL returns the URL with which a client reaches the database through the proxy.
func (p *Proxy) URL() string { return p.database.String() }

// RoundTrips returns the number of round trips so far. A message or a pipeline to which the server responds is one
// round trip. The messages that open and close a connection are not counted.
func (p *Proxy) RoundTrips() int { return int(p.requests.Load()) }

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // the listener is closed
		}
		p.running.Go(func() { p.connect(client) })
	}
}

// connect connects a client to the server and forwards data in both directions until the connection is
// closed.
func (p *Proxy) connect(client net.Conn) {
	defer client.Close()
	if p.isCut() {
		return
	}
	server, err := net.DialTimeout("tcp", p.currentServer(), stuckTimeout)
	if err != nil {
		return
	}
	defer server.Close()
	c := &proxyConn{proxy: p, client: client, server: server.(*net.TCPConn), done: make(chan struct{})}
	if !p.add(c) {
		return
	}
	defer p.remove(c)
	p.running.Go(c.forwardRequests)
	c.forwardResponses()
}

// Redirect makes the proxy forward new connections to another server, as a load balancer does after a failover.
// Existing connections stay open until Cut is called.
func (p *Proxy) Redirect(to *Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = net.JoinHostPort("127.0.0.1", strconv.Itoa(to.port))
}

func (p *Proxy) currentServer() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server
}

func (p *Proxy) isCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

// add registers a connection so that Cut can close it. It returns false if Cut has already been called.
func (p *Proxy) add(c *proxyConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.cut {
		p.conns[c] = true
	}
	return !p.cut
}

func (p *Proxy) remove(c *proxyConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *Proxy) currentDelay() (time.Duration, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay, p.changed
}
