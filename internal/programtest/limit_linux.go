package programtest

import "golang.org/x/sys/unix"

// LimitFileSize sets the maximum file size for the running program, which simulates a full disk. It requires
// no privileges.
func (p *Program) LimitFileSize(size uint64) {
	p.T.Helper()
	pid := p.Command.Process.Pid
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
		p.T.Fatal(err)
	}
	limit.Cur = min(size, limit.Max) // the limit cannot be set above the hard limit
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		p.T.Fatal(err)
	}
}
