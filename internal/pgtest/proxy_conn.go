package pgtest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// proxyConn is one connection from a client through the proxy to the server.
type proxyConn struct {
	proxy  *Proxy
	client net.Conn
	server *net.TCPConn
	muted  atomic.Bool // if true, everything that the server sends is dropped
	once   sync.Once
	done   chan struct{} // closed when the connection is closed
}

// close closes the connections to the client and to the server.
func (c *proxyConn) close() {
	c.once.Do(func() {
		close(c.done)
		c.client.Close()
		c.server.Close()
	})
}

// forwardRequests forwards whole messages to the server, so that it can check each message for a fault to inject. A
// pipeline counts as one message. The server executes the messages in a pipeline one after another until the first
// error.
func (c *proxyConn) forwardRequests() {
	in, out := bufio.NewReader(c.client), bufio.NewWriter(c.server)
	message, err := readMessage(in, 0)
	for err == nil {
		if fault := c.proxy.takeFault(message); fault != nil {
			out.Flush() // forward the earlier messages, because the fault affects only this one
			fault.inject(c, message)
			close(fault.injected)
			return
		}
		if _, err = out.Write(message); err != nil {
			break
		}
		if in.Buffered() == 0 { // messages that arrived together are forwarded together
			if !c.delay() {
				break
			}
			if err = out.Flush(); err != nil {
				break
			}
		}
		if message, err = readPipeline(in); err == nil && message[0] != 'X' { // X is Terminate
			c.proxy.requests.Add(1)
		}
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

// deliverLast sends one last message and the end of the stream to the server. The server executes the message
// and then closes the connection.
func (c *proxyConn) deliverLast(message []byte) {
	c.muted.Store(true)
	if _, err := c.server.Write(message); err != nil {
		c.close()
		return
	}
	c.server.CloseWrite()
}

// delay waits until the proxy's delay has passed. It returns false if the connection is closed meanwhile.
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

// readPipeline reads one message, or all messages of a pipeline up to its Sync message.
func readPipeline(in *bufio.Reader) (all []byte, err error) {
	for {
		message, err := readMessage(in, 1)
		if err != nil {
			return nil, err
		}
		all = append(all, message...)
		// The letters stand for Parse, Bind, Describe, Execute and Close.
		if !strings.Contains("PBDEC", string(message[0])) {
			return all, nil
		}
	}
}

// readMessage reads one message in PostgreSQL's protocol. A message consists of a type byte, a four-byte
// length that includes itself, and the content. The first message on a connection has no type byte. typeBytes
// must be 0 for this first message and 1 for all other messages.
func readMessage(in *bufio.Reader, typeBytes int) ([]byte, error) {
	header, err := in.Peek(typeBytes + 4)
	if err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(header[typeBytes:])
	if length < 4 || length > 1<<30 {
		return nil, errors.New("not a message of PostgreSQL's protocol")
	}
	message := make([]byte, typeBytes+int(length))
	_, err = io.ReadFull(in, message)
	return message, err
}
