//go:build unix

package server

import (
	"math"
	"syscall"
)

// maxOpenFiles returns how many files and connections this process may have open. The Go runtime has raised
// the soft limit to the hard one.
func maxOpenFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
