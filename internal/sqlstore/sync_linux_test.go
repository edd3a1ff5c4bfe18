package sqlstore

import (
	"fmt"
	"os"
	process "os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// A write is acknowledged only after the WAL has been flushed to disk. The test traces the system calls of
// another process that writes and acknowledges: between a write to the WAL and the acknowledgement, there
// must be a sync of the WAL.
func TestAcknowledgedWriteIsSyncedToDisk(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread() // only the thread that starts a process may trace it
	defer runtime.UnlockOSThread()
	cmd := process.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerEnv+"="+newFile(t))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatalf("cannot start a process to trace: %v", err)
	}
	defer cmd.Process.Release()
	w := watched{t: t, pid: cmd.Process.Pid}
	w.trace()
	if w.acknowledged != acknowledgedWrites || w.written == 0 {
		t.Errorf("saw %d acknowledgements and %d writes to the WAL, want %d of each", w.acknowledged, w.written, acknowledgedWrites)
	}
}

// watched is a traced process.
type watched struct {
	t            *testing.T
	pid          int
	unsynced     bool // whether the WAL has been written since its last sync
	fresh        bool // whether the WAL has been written since the last acknowledgement
	written      int  // the number of acknowledgements that followed a write to the WAL
	acknowledged int
}

// syscallStop is the signal of a stop at a system call. The bit 0x80 tells it from a real SIGTRAP.
const syscallStop = syscall.SIGTRAP | 0x80

// trace lets the process run until it exits and looks at every system call of all its threads.
func (w *watched) trace() {
	w.t.Helper()
	running := map[int]string{} // the system call in which each thread is
	for started := false; ; {
		var status syscall.WaitStatus
		// WNOTHREAD ignores processes that other tests have started.
		thread, err := syscall.Wait4(-1, &status, syscall.WALL|syscall.WNOTHREAD, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			w.t.Fatalf("cannot wait for the traced process: %v", err)
		}
		if status.Exited() || status.Signaled() {
			if thread != w.pid {
				continue
			}
			if status.ExitStatus() != 0 {
				w.t.Errorf("the traced process ended with the status %v", status)
			}
			return
		}
		call, known := running[thread]
		signal := 0
		switch {
		case !started:
			started = true
			const options = syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACESYSGOOD
			if err := syscall.PtraceSetOptions(thread, options); err != nil {
				w.t.Fatalf("cannot trace threads: %v", err)
			}
		case status.StopSignal() == syscallStop && call == "":
			call = w.enter(thread)
		case status.StopSignal() == syscallStop:
			w.leave(call)
			call = ""
		case status.StopSignal() == syscall.SIGTRAP || status.StopSignal() == syscall.SIGSTOP && !known:
			// A thread has started another one, or is new.
		default:
			signal = int(status.StopSignal()) // deliver the signal
		}
		running[thread] = call
		if err := syscall.PtraceSyscall(thread, signal); err != nil && err != syscall.ESRCH {
			w.t.Fatalf("cannot continue the traced process: %v", err)
		}
	}
}

// enter looks at a system call that a thread is about to make and returns a name for it.
func (w *watched) enter(thread int) string {
	var number, file uint64
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", w.pid, thread))
	if _, scanErr := fmt.Sscanf(string(text), "%d 0x%x", &number, &file); err != nil || scanErr != nil {
		return "another" // the thread is ending
	}
	isWAL := func() bool {
		path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", w.pid, file)) // not every number is a file
		return strings.HasSuffix(path, "-wal")
	}
	switch number {
	case syscall.SYS_PWRITE64, syscall.SYS_WRITE:
		if file == uint64(syscall.Stdout) {
			w.acknowledge()
		} else if isWAL() {
			w.unsynced, w.fresh = true, true
		}
	case syscall.SYS_FSYNC, syscall.SYS_FDATASYNC:
		if isWAL() {
			return "sync"
		}
	}
	return "another"
}

// leave is called when a system call has returned.
func (w *watched) leave(call string) {
	if call == "sync" {
		w.unsynced = false
	}
}

func (w *watched) acknowledge() {
	w.acknowledged++
	if w.fresh {
		w.written++
	}
	if w.unsynced || !w.fresh {
		w.t.Errorf("write %d was acknowledged before the WAL was written and synced", w.acknowledged)
	}
	w.fresh = false
}
