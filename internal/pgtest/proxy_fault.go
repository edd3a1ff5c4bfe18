package pgtest

import (
	"bytes"
	"strings"
	"sync"
)

// fault waits for one message from a client, and then cuts that connection.
type fault struct {
	match    func(message []byte) bool
	inject   func(c *proxyConn, message []byte)
	injected chan struct{}
}

// IsCommit matches a COMMIT as pgx and database/sql send it, by the simple query protocol.
func IsCommit(message []byte) bool {
	text, isQuery := bytes.CutPrefix(message, []byte("Q"))
	return isQuery && len(text) > 4 && strings.EqualFold(strings.Trim(string(text[4:]), "\x00; \n"), "commit")
}

// CutBefore cuts the first connection whose client sends a message that matches, before it reaches the server. All other
// connections go on. A message is what PostgreSQL's protocol calls so: a letter, four bytes of length, the content.
// The channel is closed when the client has been cut off.
func (p *Proxy) CutBefore(match func(message []byte) bool) (disconnected <-chan struct{}) {
	return p.setFault(match, func(c *proxyConn, _ []byte) { c.close() })
}

// CutAfter is like CutBefore, but the server gets the message and carries it out; only its answer is lost.
func (p *Proxy) CutAfter(match func(message []byte) bool) (disconnected <-chan struct{}) {
	return p.setFault(match, func(c *proxyConn, message []byte) {
		c.deliverLast(message)
		<-c.done // when the server has closed its end, it is done with the message
	})
}

// CutLate is like CutAfter, but the message stays on its way, while the client is already cut off, until release is called:
// the server carries it out when the client has long begun to ask what became of it.
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

func (p *Proxy) setFault(match func([]byte) bool, spring func(*proxyConn, []byte)) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = &fault{match, spring, make(chan struct{})}
	return p.fault.injected
}

// takeFault returns the trap if this message springs it. It catches one.
func (p *Proxy) takeFault(message []byte) *fault {
	p.mu.Lock()
	set := p.fault
	p.mu.Unlock()
	if set == nil || !set.match(message) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault != set {
		return nil
	}
	p.fault = nil
	return set
}
