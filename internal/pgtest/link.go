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

// link is one connection through the proxy.
type link struct {
	proxy  *Proxy
	client net.Conn
	server *net.TCPConn
	muted  atomic.Bool // what the server says does not reach the client any more
	once   sync.Once
	done   chan struct{} // closed when it is dropped
}

// drop closes both ends.
func (l *link) drop() {
	l.once.Do(func() {
		close(l.done)
		l.client.Close()
		l.server.Close()
	})
}

// fromClient passes on whole messages, so that a trap sees each as one.
func (l *link) fromClient() {
	in, out := bufio.NewReader(l.client), bufio.NewWriter(l.server)
	message, err := readMessage(in, 0)
	for err == nil {
		if trap := l.proxy.caught(message); trap != nil {
			out.Flush() // what came before the message is not the trap's; a server that is gone gets nothing anyway
			trap.spring(l, message)
			close(trap.sprung)
			return
		}
		if _, err = out.Write(message); err != nil {
			break
		}
		if in.Buffered() == 0 { // what was sent together goes on together
			if !l.pause() {
				break
			}
			if err = out.Flush(); err != nil {
				break
			}
		}
		message, err = readMessage(in, 1)
	}
	l.drop()
}

func (l *link) fromServer() {
	defer l.drop()
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buffer)
		if !l.muted.Load() && l.pause() {
			if _, err := l.client.Write(buffer[:n]); err != nil && !l.muted.Load() {
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
func (l *link) deliverLast(message []byte) {
	l.muted.Store(true)
	if _, err := l.server.Write(message); err != nil {
		l.drop()
		return
	}
	l.server.CloseWrite()
}

// pause waits as long as the proxy's delay is, and tells whether the connection is still there.
func (l *link) pause() bool {
	for begin := time.Now(); ; {
		delay, changed := l.proxy.currentDelay()
		left := delay - time.Since(begin)
		if left <= 0 {
			return true
		}
		select {
		case <-time.After(left):
		case <-changed:
		case <-l.done:
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
