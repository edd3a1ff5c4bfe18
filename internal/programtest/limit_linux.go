package programtest

import (
	"syscall"
	"unsafe"
)

// LimitFileSize sets the maximum file size for the running program, which simulates a full disk. It requires
// no privileges.
func (p *Program) LimitFileSize(size uint64) {
	p.T.Helper()
	var limit syscall.Rlimit
	prlimit := func(newLimit, oldLimit *syscall.Rlimit) {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(p.Command.Process.Pid), syscall.RLIMIT_FSIZE,
			uintptr(unsafe.Pointer(newLimit)), uintptr(unsafe.Pointer(oldLimit)), 0, 0)
		if errno != 0 {
			p.T.Fatal(errno)
		}
	}
	prlimit(nil, &limit)
	limit.Cur = min(size, limit.Max) // the hard limit cannot be exceeded
	prlimit(&limit, nil)
}
