package pgtest

import (
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Proxy stands between clients and a server, and cuts or slows what passes. All methods are safe to call at any time.
type Proxy struct {
	listener net.Listener
	server   string // its address
	database *url.URL
	running  sync.WaitGroup

	mu      sync.Mutex
	cut     bool
	delay   time.Duration
	changed chan struct{} // closed when the delay changes
	fault   *fault
	conns   map[*proxyConn]bool
}

// StartProxy starts a proxy in front of the database at this address (one host, sslmode=disable), and ends it with the test.
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

// URL returns the address of the database, by way of the proxy.
func (p *Proxy) URL() string { return p.database.String() }

// Cut drops all connections, and every new one as soon as it is made, until Heal.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for c := range p.conns {
		c.close()
	}
}

// Heal ends Cut and Delay.
func (p *Proxy) Heal() {
	p.mu.Lock()
	p.cut = false
	p.mu.Unlock()
	p.Delay(0)
}

// Delay holds all that passes for this long, each way, what already waits included. An hour is a silent network: nothing
// passes, nothing is refused, and it is healed by Delay(0).
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // it is closed
		}
		p.running.Go(func() { p.connect(client) })
	}
}

// connect passes one connection on until it ends.
func (p *Proxy) connect(client net.Conn) {
	defer client.Close()
	if p.isCut() {
		return
	}
	server, err := net.DialTimeout("tcp", p.server, stuckTimeout)
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

func (p *Proxy) isCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

// add keeps a connection for Cut, unless that came first.
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
