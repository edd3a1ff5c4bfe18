package pgtest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// proxyConn is one connection through the proxy.
type proxyConn struct {
	proxy  *Proxy
	client net.Conn
	server *net.TCPConn
	muted  atomic.Bool // what the server says does not reach the client any more
	once   sync.Once
	done   chan struct{} // closed when it is dropped
}

// close closes both ends.
func (c *proxyConn) close() {
	c.once.Do(func() {
		close(c.done)
		c.client.Close()
		c.server.Close()
	})
}

// forwardRequests passes on whole messages, so that a trap sees each as one.
func (c *proxyConn) forwardRequests() {
	in, out := bufio.NewReader(c.client), bufio.NewWriter(c.server)
	message, err := readMessage(in, 0)
	for err == nil {
		if fault := c.proxy.takeFault(message); fault != nil {
			out.Flush() // what came before the message is not the trap's; a server that is gone gets nothing anyway
			fault.inject(c, message)
			close(fault.injected)
			return
		}
		if _, err = out.Write(message); err != nil {
			break
		}
		if in.Buffered() == 0 { // what was sent together goes on together
			if !c.delay() {
				break
			}
			if err = out.Flush(); err != nil {
				break
			}
		}
		message, err = readMessage(in, 1)
	}
	c.close()
}

func (c *proxyConn) forwardResponses() {
	defer c.close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := c.server.Read(buffer)
		if !c.muted.Load() && c.delay() {
			if _, err := c.client.Write(buffer[:n]); err != nil && !c.muted.Load() {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// deliverLast gives the server its last message. The server works on it before it sees that there is no more, and closes
// its end then.
func (c *proxyConn) deliverLast(message []byte) {
	c.muted.Store(true)
	if _, err := c.server.Write(message); err != nil {
		c.close()
		return
	}
	c.server.CloseWrite()
}

// delay waits as long as the proxy's delay is, and tells whether the connection is still there.
func (c *proxyConn) delay() bool {
	for begin := time.Now(); ; {
		delay, changed := c.proxy.currentDelay()
		left := delay - time.Since(begin)
		if left <= 0 {
			return true
		}
		select {
		case <-time.After(left):
		case <-changed:
		case <-c.done:
			return false
		}
	}
}

// readMessage reads one message: a letter (not in the first of a connection), its length, which counts itself, its content.
func readMessage(in *bufio.Reader, letter int) ([]byte, error) {
	header, err := in.Peek(letter + 4)
	if err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(header[letter:])
	if length < 4 || length > 1<<30 {
		return nil, errors.New("this is not PostgreSQL's protocol")
	}
	message := make([]byte, letter+int(length))
	_, err = io.ReadFull(in, message)
	return message, err
}
