package pgtest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"time"
)

// fault defines what happens to the first matching message and to the client that sends it.
type fault struct {
	match    func(message []byte) bool
	inject   func(c *proxyConn, message []byte)
	injected chan struct{}
}

// commitStatement is the name that pgx gives to a prepared COMMIT.
var commitStatement = fmt.Sprintf("stmtcache_%.24x", sha256.Sum256([]byte("COMMIT")))

// IsCommit reports whether a message is a COMMIT, or a pipeline that executes a prepared COMMIT.
func IsCommit(message []byte) bool {
	if bytes.Contains(message, []byte("\x00"+commitStatement+"\x00")) {
		return message[0] != 'P' // preparing a COMMIT does not execute it
	}
	text, isQuery := bytes.CutPrefix(message, []byte("Q"))
	return isQuery && len(text) > 4 && strings.EqualFold(strings.Trim(string(text[4:]), "\x00; \n"), "commit")
}

// CutBefore disconnects the first client that sends a matching message, before the message reaches the
// server. Other connections are not affected. The message passed to match is in the format of PostgreSQL's
// protocol: a type byte, four bytes for the length, and the content. The returned channel is closed when the
// client has been disconnected.
func (p *Proxy) CutBefore(match func(message []byte) bool) (disconnected <-chan struct{}) {
	return p.setFault(match, func(c *proxyConn, _ []byte) { c.close() })
}

// CutAfter is like CutBefore, but the server executes the message. Only the response is lost.
func (p *Proxy) CutAfter(match func(message []byte) bool) (disconnected <-chan struct{}) {
	return p.setFault(match, func(c *proxyConn, message []byte) {
		c.deliverLast(message)
		<-c.done // the server closes the connection after it has executed the message
	})
}

// CutLate is like CutAfter, but the server receives the message only when release is called. The client is
// disconnected before that.
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

// LostCommits are the ways in which the response to a COMMIT can get lost. In "before", the server never
// receives the COMMIT. In "after", the server has executed it. In "late", the server receives it when release
// is called, long after the client was disconnected.
var LostCommits = map[string]func(p *Proxy, match func([]byte) bool) (disconnected <-chan struct{}, release func()){
	"before": func(p *Proxy, match func([]byte) bool) (<-chan struct{}, func()) {
		return p.CutBefore(match), func() {}
	},
	"after": func(p *Proxy, match func([]byte) bool) (<-chan struct{}, func()) { return p.CutAfter(match), func() {} },
	"late":  (*Proxy).CutLate,
}

func (p *Proxy) setFault(match func([]byte) bool, inject func(*proxyConn, []byte)) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = &fault{match, inject, make(chan struct{})}
	return p.fault.injected
}

// takeFault checks whether the current fault matches the message. If so, takeFault removes the fault and returns it.
// If not, takeFault returns nil.
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

// Cut closes all connections, including new ones, until Heal is called.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for c := range p.conns {
		c.close()
	}
}

// Heal ends the effects of Cut and Delay.
func (p *Proxy) Heal() {
	p.mu.Lock()
	p.cut = false
	p.mu.Unlock()
	p.Delay(0)
}

// Delay delays all data by d in each direction. The new delay also applies to data that is already waiting. A
// delay of an hour simulates a silent network, in which nothing arrives and no connection is refused until
// Delay(0) or Heal is called.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
	close(p.changed)
	p.changed = make(chan struct{})
}
