//go:build unix

package server

import (
	"math"
	"syscall"
)

// maxOpenFiles returns the maximum number of files and connections that this process can open. The Go runtime
// has already raised the soft limit to the hard limit.
func maxOpenFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
