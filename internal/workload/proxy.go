package workload

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
)

// faultyProxy is a TCP proxy that forwards connections to the running nodes. It cuts each connection after a
// random number of bytes, so a request or a response may be cut off in the middle.
type faultyProxy struct {
	l        *Load
	listener net.Listener
	running  sync.WaitGroup
	// meanBytes is the mean number of bytes in each direction before a connection is cut. If it is 0, there
	// is no limit.
	meanBytes atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]bool // the connections from clients
}

func newFaultyProxy(l *Load, meanBytes int64) *faultyProxy {
	l.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	p := &faultyProxy{l: l, listener: listener, conns: map[net.Conn]bool{}}
	p.meanBytes.Store(meanBytes)
	p.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the listener was closed at the end of the test
			}
			p.running.Go(func() { p.forward(conn) })
		}
	})
	l.t.Cleanup(func() {
		listener.Close()
		p.cutAll()
		p.running.Wait()
	})
	return p
}

func (p *faultyProxy) url() string { return "http://" + p.listener.Addr().String() }

// cutAll closes all connections.
func (p *faultyProxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		conn.Close()
		p.l.Cuts.Add(1)
	}
}

// forward forwards a connection to a node until one side closes it or one direction has reached its limit.
func (p *faultyProxy) forward(conn net.Conn) {
	defer conn.Close()
	node, err := net.Dial("tcp", p.l.anyNode())
	if err != nil {
		return // all nodes are down, or the node has just been killed
	}
	defer node.Close()
	p.mu.Lock()
	p.conns[conn] = true
	p.mu.Unlock()
	if tcp, ok := conn.(*net.TCPConn); ok && rand.IntN(2) == 0 {
		tcp.SetLinger(0) // with this setting, Close sends an RST, which also discards data in flight
	}
	var copying sync.WaitGroup
	for to, from := range map[net.Conn]net.Conn{node: conn, conn: node} {
		limit := int64(1 << 62)
		if mean := p.meanBytes.Load(); mean > 0 {
			limit = 1 + rand.Int64N(2*mean)
		}
		copying.Go(func() {
			if n, _ := io.CopyN(to, from, limit); n == limit {
				p.l.Cuts.Add(1)
			}
			conn.Close()
			node.Close()
		})
	}
	copying.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}
