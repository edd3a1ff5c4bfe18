package pgtest

import (
	"bytes"
	"strings"
	"sync"
	"time"
)

// fault disconnects the first client that sends a matching message.
type fault struct {
	match    func(message []byte) bool
	inject   func(c *proxyConn, message []byte)
	injected chan struct{}
}

// IsCommit matches a COMMIT as pgx sends it, in the simple query protocol.
func IsCommit(message []byte) bool {
	text, isQuery := bytes.CutPrefix(message, []byte("Q"))
	return isQuery && len(text) > 4 && strings.EqualFold(strings.Trim(string(text[4:]), "\x00; \n"), "commit")
}

// CutBefore cuts the first connection whose client sends a matching message, before the message reaches the
// server. Other connections are not affected. A message is one of PostgreSQL's protocol: a type byte, four
// bytes of length, the content. The channel is closed when the client is disconnected.
func (p *Proxy) CutBefore(match func(message []byte) bool) (disconnected <-chan struct{}) {
	return p.setFault(match, func(c *proxyConn, _ []byte) { c.close() })
}

// CutAfter is like CutBefore, but the server executes the message. Only the response is lost.
func (p *Proxy) CutAfter(match func(message []byte) bool) (disconnected <-chan struct{}) {
	return p.setFault(match, func(c *proxyConn, message []byte) {
		c.deliverLast(message)
		<-c.done // the server has executed the message when it closes the connection
	})
}

// CutLate is like CutAfter, but the server receives the message only when release is called, long after the
// client was disconnected.
func (p *Proxy) CutLate(match func(message []byte) bool) (disconnected <-chan struct{}, release func()) {
	released := make(chan struct{})
	disconnected = p.setFault(match, func(c *proxyConn, message []byte) {
		c.muted.Store(true)
		c.client.Close()
		p.running.Go(func() {
			select {
			case <-released:
				c.deliverLast(message)
			case <-c.done:
			}
		})
	})
	return disconnected, sync.OnceFunc(func() { close(released) })
}

func (p *Proxy) setFault(match func([]byte) bool, inject func(*proxyConn, []byte)) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = &fault{match, inject, make(chan struct{})}
	return p.fault.injected
}

// takeFault removes and returns the fault if it matches the message, else nil.
func (p *Proxy) takeFault(message []byte) *fault {
	p.mu.Lock()
	current := p.fault
	p.mu.Unlock()
	if current == nil || !current.match(message) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault != current {
		return nil
	}
	p.fault = nil
	return current
}

// Cut closes all connections, and every new one, until Heal is called.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for c := range p.conns {
		c.close()
	}
}

// Heal undoes Cut and Delay.
func (p *Proxy) Heal() {
	p.mu.Lock()
	p.cut = false
	p.mu.Unlock()
	p.Delay(0)
}

// Delay delays all data by d in each direction, including data that is already delayed. An hour is a silent
// network: nothing arrives, and no connection is refused, until Delay(0) or Heal.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
	close(p.changed)
	p.changed = make(chan struct{})
}
