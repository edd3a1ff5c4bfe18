package e2e

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// road leads clients to whichever nodes there are at the moment, under one address. Connections on it break: after so many bytes,
// in the middle of a request or of an answer, or all at once.
type road struct {
	listener net.Listener
	cuts     atomic.Int64
	broken   sync.WaitGroup

	mu    sync.Mutex
	dice  *rand.Rand
	nodes []string // their addresses; empty: nobody is there
	links map[*link]bool
	fray  int // about so many bytes go over a connection in each direction, at most twice as many; 0: any number
}

// link is one connection on the road, with both of its ends.
type link struct{ client, node net.Conn }

func newRoad(t *testing.T, seed uint64, nodes, fray int) *road {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &road{listener: listener, dice: rand.New(rand.NewPCG(seed, uint64(fray))), nodes: make([]string, nodes),
		links: map[*link]bool{}, fray: fray}
	r.broken.Go(r.accept)
	t.Cleanup(func() {
		listener.Close()
		r.cutAll()
		r.broken.Wait()
	})
	return r
}

func (r *road) url() string { return "http://" + r.listener.Addr().String() }

// put says where a node is from now on; nowhere, where it is about to end, because its port may be somebody else's then.
func (r *road) put(i int, addr string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes[i] = addr
}

// calm says how soon connections break that are made from now on.
func (r *road) calm(fray int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fray = fray
}

// cutAll breaks every connection that there is.
func (r *road) cutAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.links {
		l.client.Close()
		l.node.Close()
		r.cuts.Add(1)
	}
}

func (r *road) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return // the test is over
		}
		r.broken.Go(func() { r.connect(conn) })
	}
}

// choose picks a node, and how far the two directions of a connection to it reach.
func (r *road) choose() (addr string, up, down int64, hard bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	up, down = 1<<62, 1<<62
	if r.fray > 0 {
		up, down = 1+r.dice.Int64N(2*int64(r.fray)), 1+r.dice.Int64N(2*int64(r.fray))
	}
	turn := r.dice.IntN(len(r.nodes))
	for i := range r.nodes {
		if addr = r.nodes[(turn+i)%len(r.nodes)]; addr != "" {
			break
		}
	}
	return addr, up, down, r.dice.IntN(2) == 0
}

func (r *road) connect(conn net.Conn) {
	defer conn.Close()
	addr, up, down, hard := r.choose()
	if addr == "" {
		return
	}
	node, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return // it has just been killed
	}
	defer node.Close()
	l := &link{conn, node}
	r.mu.Lock()
	r.links[l] = true
	r.mu.Unlock()
	ended := make(chan bool, 2)
	carry := func(to, from net.Conn, most int64) {
		n, _ := io.Copy(to, io.LimitReader(from, most))
		ended <- n == most
	}
	go carry(node, conn, up)
	go carry(conn, node, down)
	if cut := <-ended; cut {
		r.cuts.Add(1)
		if tcp, ok := conn.(*net.TCPConn); ok && hard {
			tcp.SetLinger(0) // what was on its way is lost, too
		}
	} else { // one side is done: what the other still has to say is let through
		r.drain(l, ended)
	}
	r.mu.Lock()
	delete(r.links, l)
	r.mu.Unlock()
	conn.Close()
	node.Close()
	if len(ended) == 0 {
		<-ended
	}
}

// drain waits a moment for the other direction of a link of which one has ended.
func (r *road) drain(l *link, ended chan bool) {
	deadline := time.Now().Add(100 * time.Millisecond)
	l.client.SetReadDeadline(deadline)
	l.node.SetReadDeadline(deadline)
	<-ended
	ended <- false
}
