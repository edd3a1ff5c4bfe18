package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// limitListener limits the number of open connections. At the limit, a new connection replaces one that is
// waiting for its client to send a request or the rest of a body, or to read a response. Clients that do
// nothing therefore cannot keep other clients out. Connections that have never completed a request are replaced
// first. If no client pauses for long enough, connections are closed after their next response, so clients that
// are always busy cannot keep other clients out either. In both cases, networks that have many connections lose
// theirs first.
type limitListener struct {
	net.Listener
	max       int
	mu        sync.Mutex // guards open, byNetwork and refusing
	open      map[*limitedConn]struct{}
	byNetwork map[netip.Prefix]int // the number of open connections from each network
	refusing  bool                 // whether a new connection was refused and no connection has ended since
	wanted    atomic.Bool          // whether a new connection found no place and no connection has ended since
	ended     chan struct{}        // has an element if a connection has ended
	closed    chan struct{}
	closeOnce sync.Once
	dropped   *prometheus.CounterVec
	extra     atomic.Int64 // requests in progress beyond the first on each connection
	draining  atomic.Bool  // if true, each response tells the client not to use its connection again
}

// limitedConn is an accepted connection.
type limitedConn struct {
	*net.TCPConn
	listener *limitListener
	network  netip.Prefix // the client's network, as returned by networkOf
	accepted time.Time
	secure   *tls.ConnectionState // the state of a TLS connection with HTTP/2; otherwise nil
	state    atomic.Int32
	served   atomic.Bool // whether the connection has completed a request
	rotated  atomic.Bool // whether a response has said that the connection will be closed to make room for another one
	requests connRequests
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
	reasonStalled = "stalled" // the client neither sent the rest of its request nor read the response
	reasonRotated = "rotated" // the connection was closed to make room for a new one, after a response that announced it
	reasonRefused = "refused" // the connection was new, but all other connections were active
	reasonFlooded = "flooded" // the client flooded an HTTP/2 connection, see floodCounter
)

const (
	// dropSample is the maximum number of connections that are considered for dropping. The number is limited
	// so that a flood of connections does not cost the server more than the sender.
	dropSample = 64
	// dropMinAge is how long a client must have paused before its connection may be dropped, whether between requests,
	// while sending a body or while reading a response. Until the connection has completed its first request, the
	// shorter newcomerMinAge applies instead. Thus clients that open as many connections as they can but send nothing
	// do not delay new connections for long. If no client has paused for long enough, a new connection must wait.
	dropMinAge     = 500 * time.Millisecond
	newcomerMinAge = 100 * time.Millisecond
	// sparingWait is how long a new connection may replace only a connection from a network that has many connections.
	// After that, it may also replace a connection from a network that has few.
	sparingWait = 100 * time.Millisecond
	// refuseWait is how long a new connection waits for an active connection to end before it is refused.
	refuseWait = 500 * time.Millisecond
	// sendBuffer is how many bytes the kernel buffers for a client that does not read. Linux would otherwise
	// let the buffer grow to megabytes for each connection, and containers count it as memory.
	sendBuffer    = 64 << 10
	admitInterval = 10 * time.Millisecond
)

func newLimitListener(max int) *limitListener {
	l := &limitListener{
		max: max, open: map[*limitedConn]struct{}{}, byNetwork: map[netip.Prefix]int{},
		ended: make(chan struct{}, 1), closed: make(chan struct{}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_connections_dropped_total",
			Help: "Connections closed at a limit: waiting for a request, replaced by a new connection; stalled, because the " +
				"client neither sent nor read; rotated, after a response that announced it; refused, because all others were active; " +
				"flooded, because an HTTP/2 client reset its requests, opened its window by a few bytes or needed control frames again and again.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{reasonWaiting, reasonStalled, reasonRotated, reasonRefused, reasonFlooded} {
		l.dropped.WithLabelValues(reason) // exported as 0 from the start, so that the first drop counts as an increase
	}
	return l
}

// ConnectionLimit returns wanted, or fewer if the process cannot open that many connections. It reserves a
// quarter of the open files for the database and the webhooks.
func ConnectionLimit(wanted int) int { return max(1, min(wanted, maxOpenFiles()/4*3)) }

// accept returns the next connection that is within the limit.
func (l *limitListener) accept() (*limitedConn, error) {
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

// admit adds a connection as soon as the limit allows it. It returns nil if all other connections stay active,
// or net.ErrClosed if the listener is closed.
func (l *limitListener) admit(accepted *net.TCPConn) (*limitedConn, error) {
	began := time.Now()
	for {
		admitted, retry := l.tryAdmit(accepted, time.Since(began))
		if admitted != nil || !retry {
			return admitted, nil
		}
		select {
		case <-l.ended:
		case <-time.After(admitInterval):
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
}

// tryAdmit adds a connection and drops another one if necessary. waited is how long the new connection has been
// waiting. If tryAdmit returns nil, retry reports whether there may be a place soon.
func (l *limitListener) tryAdmit(accepted *net.TCPConn, waited time.Duration) (admitted *limitedConn, retry bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.max {
		dropped, retry := l.drop((*limitedConn).minAge, (*limitedConn).isWaiting, waited < sparingWait)
		if !dropped {
			l.wanted.Store(true)
			l.refusing = !retry && (l.refusing || waited >= refuseWait)
			return nil, !l.refusing
		}
	}
	accepted.SetWriteBuffer(sendBuffer) // fails only if the client has disconnected already
	admitted = &limitedConn{TCPConn: accepted, listener: l, network: networkOf(accepted.RemoteAddr()), accepted: time.Now()}
	admitted.requests.begins = make(chan struct{}, 1)
	l.open[admitted] = struct{}{}
	l.byNetwork[admitted.network]++
	return admitted, false
}

// networkOf returns the network of a client: its IPv4 address or the first 64 bits of its IPv6 address, because
// one host can have many IPv6 addresses.
func networkOf(client net.Addr) netip.Prefix {
	address := client.(*net.TCPAddr).AddrPort().Addr().Unmap()
	network, _ := address.Prefix(min(address.BitLen(), 64)) // fails only if the address has fewer bits
	return network
}

// isCrowded reports whether a connection comes from a network that has at least as many connections as the
// average network. There is always such a network. The caller must hold the lock.
func (l *limitListener) isCrowded(c *limitedConn) bool {
	return l.byNetwork[c.network]*len(l.byNetwork) >= len(l.open)
}

// remove stops counting a connection towards the limit. The caller must hold the lock.
func (l *limitListener) remove(c *limitedConn) {
	if _, isOpen := l.open[c]; !isOpen {
		return // already removed when the connection was dropped
	}
	delete(l.open, c)
	if l.byNetwork[c.network]--; l.byNetwork[c.network] == 0 {
		delete(l.byNetwork, c.network)
	}
	l.refusing = false
	l.wanted.Store(false)
	select {
	case l.ended <- struct{}{}:
	default:
	}
}

// closesAfterResponse reports whether a connection must be closed after the response that is about to begin. This is
// the case if the server is stopping, or if a new connection is waiting for a place and this one is crowded (see
// isCrowded). The client loses nothing, because it gets its response and knows that it must connect again.
func (l *limitListener) closesAfterResponse(c *limitedConn) bool {
	if l.draining.Load() {
		return true
	}
	if !l.wanted.Load() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isCrowded(c) {
		return false
	}
	// Count the connection once, although over HTTP/2 several responses may announce that it will be closed.
	if c.rotated.CompareAndSwap(false, true) {
		l.dropped.WithLabelValues(reasonRotated).Inc()
	}
	return true
}

// minAge returns how long a connection must have waited for its client before it may be dropped.
func (c *limitedConn) minAge() time.Duration {
	if c.served.Load() {
		return dropMinAge
	}
	return newcomerMinAge
}

// drop closes one of the candidates in a random sample of the connections. Only a candidate that has been
// waiting for its client for at least its minAge may be closed. If sparing is true and the sample contains
// crowded candidates, only a crowded one may be closed. If drop closes nothing, retry reports whether it is
// worth trying again soon. The caller must hold the lock.
func (l *limitListener) drop(
	minAge func(*limitedConn) time.Duration, isCandidate func(*limitedConn) bool, sparing bool,
) (dropped, retry bool) {
	var victim *limitedConn
	sampled, hasCrowded := 0, false
	for c := range l.open { // Go iterates over maps in random order
		if sampled++; sampled > dropSample {
			break
		}
		if !isCandidate(c) {
			continue
		}
		hasCrowded = hasCrowded || l.isCrowded(c)
		if retry = true; time.Since(c.waitingSince()) >= minAge(c) && (victim == nil || l.dropsBefore(c, victim)) {
			victim = c
		}
	}
	if victim == nil || sparing && hasCrowded && !l.isCrowded(victim) {
		return false, retry
	}
	reason := reasonWaiting
	if !victim.state.CompareAndSwap(connWaiting, connDropped) {
		if !victim.isStalled() || !victim.state.CompareAndSwap(connActive, connDropped) {
			return false, retry // the chosen connection has just started a request or made progress
		}
		reason = reasonStalled
		victim.SetLinger(0) // makes the kernel discard the data that the client has not read
	}
	l.dropped.WithLabelValues(reason).Inc()
	l.remove(victim)
	victim.TCPConn.Close()
	return true, false
}

// isWaiting reports whether a connection is waiting for its client.
func (c *limitedConn) isWaiting() bool { return c.state.Load() == connWaiting || c.isStalled() }

// isStalled reports whether all requests of an active connection are waiting for the client.
func (c *limitedConn) isStalled() bool { return c.state.Load() == connActive && c.requests.allWait() }

// waitingSince returns the time at which the client last made progress. For a connection that is still waiting for its
// first request, it returns the time at which the connection was opened.
func (c *limitedConn) waitingSince() time.Time {
	if c.state.Load() == connWaiting && !c.served.Load() {
		return c.accepted
	}
	return time.Unix(0, c.requests.progress.Load())
}

// dropsBefore reports whether a connection should be dropped before another one. A crowded connection comes
// first. If both or neither are crowded, an idle connection that has served requests comes last, because many
// clients keep such connections. If that does not decide either, the connection that has been waiting longer
// comes first. The caller must hold the lock.
func (l *limitListener) dropsBefore(c, other *limitedConn) bool {
	if mine, others := l.isCrowded(c), l.isCrowded(other); mine != others {
		return mine
	}
	mine, others := c.served.Load() && !c.isStalled(), other.served.Load() && !other.isStalled()
	if mine != others {
		return others
	}
	return c.waitingSince().Before(other.waitingSince())
}

// Close closes the connection and stops counting it towards the limit.
func (c *limitedConn) Close() error {
	err := c.TCPConn.Close()
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.listener.remove(c)
	return err
}

type connKey struct{}

// connContext is called by http.Server for each new connection. It stores the connection in the context,
// where trackRequests finds it.
func (l *limitListener) connContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, unwrapConn(conn))
}

func unwrapConn(conn net.Conn) *limitedConn {
	return conn.(interface{ unwrap() *limitedConn }).unwrap()
}

// connState is called by http.Server when the state of a connection changes. A connection becomes idle when
// the responses to all of its requests have been written.
func (l *limitListener) connState(conn net.Conn, state http.ConnState) {
	if state == http.StateIdle {
		if http1, ok := conn.(interface{ forgetHead() }); ok {
			http1.forgetHead()
		}
		c := unwrapConn(conn)
		c.served.Store(true)
		c.state.CompareAndSwap(connActive, connWaiting)
	}
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
