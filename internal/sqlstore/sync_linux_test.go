package sqlstore

import (
	"fmt"
	"os"
	process "os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// A write is acknowledged only after the WAL has been flushed to disk. The test traces the system calls of another
// process, which writes to a store and acknowledges each write. Between a write to the WAL and the acknowledgement,
// there must be a sync of the WAL.
func TestAcknowledgedWriteIsSyncedToDisk(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread() // only the thread that starts a process may trace it
	defer runtime.UnlockOSThread()
	cmd := process.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerEnv+"="+newFile(t))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	must(t, cmd.Start())
	defer cmd.Process.Release()
	if got := traceSystemCalls(t, cmd.Process.Pid); !regexp.MustCompile(`^([WS]*WS+A){10}[WS]*$`).MatchString(got) {
		t.Errorf("the process writes (W), syncs (S) and acknowledges (A) in the order %s, want WSA ten times", got)
	}
}

// traceSystemCalls lets a process run until it exits and looks at every system call of all its threads. It returns a W
// for each write to the WAL, an S for each completed sync of the WAL, and an A for each write to stdout.
func traceSystemCalls(t *testing.T, pid int) string {
	t.Helper()
	var calls strings.Builder
	running := map[int]string{} // the system call that each thread is executing
	for started := false; ; {
		var status syscall.WaitStatus
		// WNOTHREAD makes Wait4 ignore processes that other tests have started.
		thread, err := syscall.Wait4(-1, &status, syscall.WALL|syscall.WNOTHREAD, nil)
		if err == syscall.EINTR {
			continue
		}
		must(t, err)
		if status.Exited() || status.Signaled() {
			if thread != pid {
				continue
			}
			if status.ExitStatus() != 0 {
				t.Errorf("the traced process ended with the status %v", status)
			}
			return calls.String()
		}
		call, known := running[thread]
		signal := 0
		switch {
		case !started:
			started = true
			must(t, syscall.PtraceSetOptions(thread, syscall.PTRACE_O_TRACECLONE|syscall.PTRACE_O_TRACESYSGOOD))
		case status.StopSignal() == syscall.SIGTRAP|0x80 && call == "": // a system call begins
			if call = describeCall(pid, thread); call == "W" || call == "A" {
				calls.WriteString(call)
			}
		case status.StopSignal() == syscall.SIGTRAP|0x80: // a system call has returned
			if call == "S" {
				calls.WriteString(call)
			}
			call = ""
		case status.StopSignal() == syscall.SIGTRAP || status.StopSignal() == syscall.SIGSTOP && !known:
			// A thread has started another thread, or has just been started itself.
		default:
			signal = int(status.StopSignal()) // deliver the signal
		}
		running[thread] = call
		if err := syscall.PtraceSyscall(thread, signal); err != nil && err != syscall.ESRCH {
			t.Fatalf("cannot continue the traced process: %v", err)
		}
	}
}

// describeCall returns the letter for the system call that a thread is about to make.
func describeCall(pid, thread int) string {
	var number, file uint64
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, thread)) // fails if the thread is ending
	fmt.Sscanf(string(text), "%d 0x%x", &number, &file)
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, file)) // fails if the argument is not a file descriptor
	isWAL := strings.HasSuffix(path, "-wal")
	isWrite := number == syscall.SYS_PWRITE64 || number == syscall.SYS_WRITE
	switch {
	case isWrite && file == uint64(syscall.Stdout):
		return "A"
	case isWrite && isWAL:
		return "W"
	case isWAL && (number == syscall.SYS_FSYNC || number == syscall.SYS_FDATASYNC):
		return "S"
	}
	return "another"
}
