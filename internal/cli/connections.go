package cli

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// connections bounds how many clients are connected. Where there is no room, whoever comes gets the place of one that is not
// being answered: of those that never sent a whole request first. So nobody keeps others out by doing nothing.
type connections struct {
	net.Listener
	most    int
	mu      sync.Mutex
	open    map[*connection]struct{}
	closed  chan struct{}
	close   sync.Once
	dropped *prometheus.CounterVec
}

// connection is one client's. What it embeds lets net/http close one half of it.
type connection struct {
	*net.TCPConn
	all    *connections
	since  time.Time
	state  atomic.Int32
	served atomic.Bool // it was answered at least once
}

// What a connection is at.
const (
	waiting   int32 = iota // for a request, or for the rest of its headers
	answering              // from the beginning of a request's work to the end of its answer
	dropped                // for another one
)

const (
	dropWaiting = "waiting" // it made room
	dropRefused = "refused" // all others were being answered
	// dropAmong is among how many the one is looked for that makes room: a flood must not cost more than it does to those who
	// send it.
	dropAmong = 64
	// dropAfter is how long everybody may take to say what they want, on a slow road too. While all are as new as that, the
	// next waits.
	dropAfter = 2 * time.Second
	dropEvery = 10 * time.Millisecond
)

func newConnections(most int) *connections {
	c := &connections{
		most: most, open: map[*connection]struct{}{}, closed: make(chan struct{}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_connections_dropped_total",
			Help: "Connections closed because there were too many: waiting, which made room for another; refused, while all others were being answered.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{dropWaiting, dropRefused} {
		c.dropped.WithLabelValues(reason) // shown from the beginning, so that a first one is an increase
	}
	return c
}

// connectionLimit is how many of the wanted connections this process can have: the database and the webhooks need open files,
// too.
func connectionLimit(wanted int) int { return max(1, min(wanted, openFiles()/4*3)) }

// Accept returns the next connection that there is room for.
func (c *connections) Accept() (net.Conn, error) {
	for {
		accepted, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		admitted, err := c.admitPatiently(accepted.(*net.TCPConn))
		if admitted != nil {
			return admitted, nil
		}
		accepted.Close()
		if err != nil {
			return nil, err
		}
		c.dropped.WithLabelValues(dropRefused).Inc()
	}
}

// Close ends the listening.
func (c *connections) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Listener.Close()
}

// admitPatiently makes room for a connection as soon as there can be some. It returns nil where there is none.
func (c *connections) admitPatiently(accepted *net.TCPConn) (*connection, error) {
	for {
		admitted, soon := c.admit(accepted)
		if admitted != nil || !soon {
			return admitted, nil
		}
		select {
		case <-time.After(dropEvery):
		case <-c.closed:
			return nil, net.ErrClosed
		}
	}
}

// admit makes room for a connection; where there is none, it tells whether there will be soon.
func (c *connections) admit(accepted *net.TCPConn) (admitted *connection, soon bool) {
	c.mu.Lock()
	var instead *connection
	if len(c.open) >= c.most {
		if instead, soon = c.choose(); instead == nil {
			c.mu.Unlock()
			return nil, soon
		}
		delete(c.open, instead)
	}
	admitted = &connection{TCPConn: accepted, all: c, since: time.Now()}
	c.open[admitted] = struct{}{}
	c.mu.Unlock()
	if instead != nil {
		c.dropped.WithLabelValues(dropWaiting).Inc()
		instead.Close()
	}
	return admitted, false
}

// choose finds a connection that can go, among some: one that was never answered, else the oldest. It is then dropped, and
// begins nothing more. Where there is none, it tells whether there will be soon.
func (c *connections) choose() (chosen *connection, soon bool) {
	looked := 0
	for one := range c.open { // Go begins anywhere
		if looked++; looked > dropAmong {
			break
		}
		if one.state.Load() != waiting {
			continue
		}
		if soon = true; time.Since(one.since) >= dropAfter && (chosen == nil || one.before(chosen)) {
			chosen = one
		}
	}
	if chosen == nil || !chosen.state.CompareAndSwap(waiting, dropped) { // it has just begun a request
		return nil, soon
	}
	return chosen, false
}

// before tells whether a connection goes before another one does.
func (c *connection) before(other *connection) bool {
	if mine, others := c.served.Load(), other.served.Load(); mine != others {
		return others
	}
	return c.since.Before(other.since)
}

// Close gives the place back.
func (c *connection) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.TCPConn.Close()
}

type connectionKey struct{}

// remember lets a request find its connection.
func (c *connections) remember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, connectionOf(conn))
}

func connectionOf(conn net.Conn) *connection {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	return conn.(*connection)
}

// changed notes that all requests of a connection are answered, to the last byte.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if state == http.StateIdle {
		one := connectionOf(conn)
		one.served.Store(true)
		one.state.CompareAndSwap(answering, waiting)
	}
}

// mark notes that a connection's request is being answered. One that has lost its place begins nothing: its client could
// not be told what became of it.
func (c *connections) mark(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one := r.Context().Value(connectionKey{}).(*connection)
		if !one.state.CompareAndSwap(waiting, answering) && one.state.Load() == dropped {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
}

func (c *connections) collectors() []prometheus.Collector {
	return []prometheus.Collector{c.dropped, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "animalstore_connections",
		Help: "Clients that are connected.",
	}, func() float64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return float64(len(c.open))
	}), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "animalstore_connections_limit",
		Help: "How many clients may be connected.",
	}, func() float64 { return float64(c.most) })}
}
