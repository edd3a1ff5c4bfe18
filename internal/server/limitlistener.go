package server

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

// limitListener limits the number of open connections. If the limit is reached, a new connection replaces one
// that is waiting for a request, so that idle clients cannot keep other clients out. Connections that have
// never completed a request are replaced first.
type limitListener struct {
	net.Listener
	max       int
	mu        sync.Mutex
	open      map[*limitedConn]struct{}
	closed    chan struct{}
	closeOnce sync.Once
	dropped   *prometheus.CounterVec
}

// limitedConn is an accepted connection. It embeds the TCP connection so that net/http can close the write
// half.
type limitedConn struct {
	*net.TCPConn
	listener *limitListener
	accepted time.Time
	state    atomic.Int32
	served   atomic.Bool // whether the connection has completed a request
}

// These are the states of a connection.
const (
	connWaiting int32 = iota // waiting for a request or for the rest of its headers
	connActive               // handling requests whose responses are not all written yet
	connDropped              // closed to make room for another connection
)

// These are the reasons for dropping a connection, as they appear in the metric.
const (
	reasonWaiting = "waiting" // the connection was waiting for a request and was replaced by a new one
	reasonRefused = "refused" // the connection was new, but all other connections were active
)

const (
	// dropCandidates is the maximum number of connections that are considered for dropping. The number is
	// limited so that a flood of connections does not cost the server more than the sender.
	dropCandidates = 64
	// dropMinAge is how long every client may take to send its request, even on a slow network. As long as
	// all waiting connections are younger, a new connection must wait.
	dropMinAge    = 2 * time.Second
	admitInterval = 10 * time.Millisecond
)

func newLimitListener(max int) *limitListener {
	l := &limitListener{
		max: max, open: map[*limitedConn]struct{}{}, closed: make(chan struct{}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_connections_dropped_total",
			Help: "Connections closed at the connection limit: waiting, replaced by a new connection; " +
				"refused, because all others were active.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{reasonWaiting, reasonRefused} {
		l.dropped.WithLabelValues(reason) // exported from the start, so that the first dropped connection counts as an increase
	}
	return l
}

// connectionLimit returns the number of connections that the process can actually open, at most wanted. It
// leaves some open files for the database and the webhooks.
func connectionLimit(wanted int) int { return max(1, min(wanted, maxOpenFiles()/4*3)) }

// Accept returns the next connection that is within the limit.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		admitted, err := l.admit(accepted.(*net.TCPConn))
		if admitted != nil {
			return admitted, nil
		}
		accepted.Close()
		if err != nil {
			return nil, err
		}
		l.dropped.WithLabelValues(reasonRefused).Inc()
	}
}

// Close stops listening. It does not close accepted connections.
func (l *limitListener) Close() error {
	l.closeOnce.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// admit adds a connection as soon as the limit allows it. It returns nil if all other connections are active,
// or net.ErrClosed if the listener is closed.
func (l *limitListener) admit(accepted *net.TCPConn) (*limitedConn, error) {
	for {
		admitted, retry := l.tryAdmit(accepted)
		if admitted != nil || !retry {
			return admitted, nil
		}
		select {
		case <-time.After(admitInterval):
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
}

// tryAdmit adds a connection and drops another one if necessary. If it returns nil, retry reports whether a
// connection can be dropped soon.
func (l *limitListener) tryAdmit(accepted *net.TCPConn) (admitted *limitedConn, retry bool) {
	l.mu.Lock()
	var replaced *limitedConn
	if len(l.open) >= l.max {
		if replaced, retry = l.drop(); replaced == nil {
			l.mu.Unlock()
			return nil, retry
		}
		delete(l.open, replaced)
	}
	admitted = &limitedConn{TCPConn: accepted, listener: l, accepted: time.Now()}
	l.open[admitted] = struct{}{}
	l.mu.Unlock()
	if replaced != nil {
		l.dropped.WithLabelValues(reasonWaiting).Inc()
		replaced.Close()
	}
	return admitted, false
}

// drop chooses a waiting connection from a random sample and marks it as dropped. If it returns nil, retry
// reports whether it is worth trying again soon.
func (l *limitListener) drop() (victim *limitedConn, retry bool) {
	candidates := 0
	for c := range l.open { // Go iterates over maps in random order
		if candidates++; candidates > dropCandidates {
			break
		}
		if c.state.Load() != connWaiting {
			continue
		}
		if retry = true; time.Since(c.accepted) >= dropMinAge && (victim == nil || c.dropsBefore(victim)) {
			victim = c
		}
	}
	if victim == nil || !victim.state.CompareAndSwap(connWaiting, connDropped) { // the chosen connection has just started a request
		return nil, retry
	}
	return victim, false
}

// dropsBefore reports whether c should be dropped before the other connection. Connections that have never
// completed a request come first, then the oldest ones.
func (c *limitedConn) dropsBefore(other *limitedConn) bool {
	if mine, others := c.served.Load(), other.served.Load(); mine != others {
		return others
	}
	return c.accepted.Before(other.accepted)
}

// Close closes the connection and stops counting it towards the limit.
func (c *limitedConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.open, c)
	c.listener.mu.Unlock()
	return c.TCPConn.Close()
}

type connKey struct{}

// connContext is called by http.Server for each new connection. It stores the connection in the context,
// where trackRequests finds it.
func (l *limitListener) connContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, unwrapConn(conn))
}

func unwrapConn(conn net.Conn) *limitedConn {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	return conn.(*limitedConn)
}

// connState is called by http.Server when the state of a connection changes. A connection becomes idle when
// the responses to all of its requests have been written.
func (l *limitListener) connState(conn net.Conn, state http.ConnState) {
	if state == http.StateIdle {
		c := unwrapConn(conn)
		c.served.Store(true)
		c.state.CompareAndSwap(connActive, connWaiting)
	}
}

// trackRequests marks a connection as active while next handles its requests. A dropped connection must not
// start another request, because the client would never learn the outcome.
func (l *limitListener) trackRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(connKey{}).(*limitedConn)
		if !c.state.CompareAndSwap(connWaiting, connActive) && c.state.Load() == connDropped {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
}

func (l *limitListener) collectors() []prometheus.Collector {
	return []prometheus.Collector{l.dropped, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "animalstore_connections",
		Help: "Open client connections.",
	}, func() float64 {
		l.mu.Lock()
		defer l.mu.Unlock()
		return float64(len(l.open))
	}), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "animalstore_connections_limit",
		Help: "Maximum number of client connections.",
	}, func() float64 { return float64(l.max) })}
}
