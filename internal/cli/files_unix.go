//go:build unix

package cli

import (
	"math"
	"syscall"
)

// openFiles is how many files and connections this process may have open. Go has asked for as many as it can get.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
