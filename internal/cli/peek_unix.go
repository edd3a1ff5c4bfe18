//go:build unix

package cli

import (
	"net"
	"syscall"
)

// canPeek tells whether hasGone knows.
const canPeek = true

// hasGone tells whether a client has closed its connection, or broken it. What it has sent stays to be read.
func hasGone(conn *net.TCPConn) (gone bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false // it is closed here
	}
	raw.Control(func(descriptor uintptr) {
		n, _, err := syscall.Recvfrom(int(descriptor), make([]byte, 1), syscall.MSG_PEEK) // Go's descriptors never wait
		gone = err == nil && n == 0 || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
	})
	return gone
}
