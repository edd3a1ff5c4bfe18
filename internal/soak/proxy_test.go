package soak

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/programtest"
)

// faultyProxy is a TCP proxy that forwards connections to the running nodes. It cuts each connection after a
// random number of bytes, which may be in the middle of a request or a response. The cutAll method cuts all
// connections.
type faultyProxy struct {
	listener net.Listener
	cuts     atomic.Int64
	running  sync.WaitGroup

	mu    sync.Mutex
	rng   *rand.Rand
	nodes []string // the address of each node, or "" if the node is down
	conns map[*proxyConn]bool
	// meanBytes is the mean number of bytes in each direction before a connection is cut. If it is 0, there
	// is no limit.
	meanBytes int
}

// proxyConn is a forwarded connection, which consists of a connection from the client and a connection to the
// node.
type proxyConn struct{ client, node net.Conn }

func newFaultyProxy(t *testing.T, seed uint64, nodes, meanBytes int) *faultyProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &faultyProxy{listener: listener, rng: rand.New(rand.NewPCG(seed, uint64(meanBytes))), nodes: make([]string, nodes),
		conns: map[*proxyConn]bool{}, meanBytes: meanBytes}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		listener.Close()
		p.cutAll()
		p.running.Wait()
	})
	return p
}

func (p *faultyProxy) url() string { return "http://" + p.listener.Addr().String() }

// setNode sets the address of node i. The address must be set to "" before the node ends, because another
// process may reuse the port.
func (p *faultyProxy) setNode(i int, addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nodes[i] = addr
}

// setMeanBytes sets the mean number of bytes after which new connections are cut.
func (p *faultyProxy) setMeanBytes(meanBytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.meanBytes = meanBytes
}

// cutAll closes all connections.
func (p *faultyProxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.client.Close()
		c.node.Close()
		p.cuts.Add(1)
	}
}

func (p *faultyProxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // the listener was closed at the end of the test
		}
		p.running.Go(func() { p.forward(conn) })
	}
}

// planConn chooses a node for a new connection, or returns the address "" if all nodes are down. It also
// chooses the number of bytes in each direction after which the connection is cut, and whether the cut resets
// the connection.
func (p *faultyProxy) planConn() (addr string, up, down int64, reset bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	up, down = 1<<62, 1<<62
	if p.meanBytes > 0 {
		up, down = 1+p.rng.Int64N(2*int64(p.meanBytes)), 1+p.rng.Int64N(2*int64(p.meanBytes))
	}
	first := p.rng.IntN(len(p.nodes))
	for i := range p.nodes {
		if addr = p.nodes[(first+i)%len(p.nodes)]; addr != "" {
			break
		}
	}
	return addr, up, down, p.rng.IntN(2) == 0
}

func (p *faultyProxy) forward(conn net.Conn) {
	defer conn.Close()
	addr, up, down, reset := p.planConn()
	if addr == "" {
		return
	}
	node, err := net.DialTimeout("tcp", addr, programtest.WaitTimeout)
	if err != nil {
		return // the node has just been killed
	}
	defer node.Close()
	c := &proxyConn{conn, node}
	p.mu.Lock()
	p.conns[c] = true
	p.mu.Unlock()
	ended := make(chan bool, 2)
	copyUpTo := func(to, from net.Conn, limit int64) {
		n, _ := io.Copy(to, io.LimitReader(from, limit))
		ended <- n == limit
	}
	go copyUpTo(node, conn, up)
	go copyUpTo(conn, node, down)
	if cut := <-ended; cut {
		p.cuts.Add(1)
		if tcp, ok := conn.(*net.TCPConn); ok && reset {
			tcp.SetLinger(0) // send an RST, which also discards data in flight
		}
	} else { // one direction was closed, so let the other one finish
		p.drain(c, ended)
	}
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	conn.Close()
	node.Close()
	if len(ended) == 0 {
		<-ended
	}
}

// drain waits up to 100 ms until the remaining direction of the connection has ended.
func (p *faultyProxy) drain(c *proxyConn, ended chan bool) {
	deadline := time.Now().Add(100 * time.Millisecond)
	c.client.SetReadDeadline(deadline)
	c.node.SetReadDeadline(deadline)
	<-ended
	ended <- false
}
