package cli

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// windowsAddrInUse is the Windows error code for an address that is in use. Go does not map it to syscall.EADDRINUSE.
const windowsAddrInUse = syscall.Errno(10048)

// listen listens on an address. If the address is in use, the error suggests another one.
func listen(addr string) (net.Listener, error) {
	listener, err := net.Listen("tcp", addr)
	switch {
	case err == nil:
		return listener, nil
	case errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, windowsAddrInUse):
		return nil, fmt.Errorf("cannot listen: %s is already in use; choose another with --addr %s", addr, freeAddr(addr))
	}
	return nil, fmt.Errorf("cannot listen: %w", err)
}

// freeAddr returns the address with the next free port. If none of the next 100 ports is free, it returns the address
// with port 0, which makes the system choose a port.
func freeAddr(addr string) string {
	const tries, lastPort = 100, 65535
	host, text, _ := net.SplitHostPort(addr) // the address is valid, because the settings method has checked it
	port, _ := strconv.Atoi(text)
	for next := port + 1; next <= min(port+tries, lastPort); next++ {
		candidate := net.JoinHostPort(host, strconv.Itoa(next))
		if listener, err := net.Listen("tcp", candidate); err == nil {
			listener.Close() // the error can be ignored, because no client has used the port
			return candidate
		}
	}
	return net.JoinHostPort(host, "0")
}
