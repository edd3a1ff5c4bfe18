package hatest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

// cleanerScript waits until its stdin is closed, either by the test process or because that process was killed. Then it
// kills the processes in a directory and removes the directory.
const cleanerScript = `
cat >/dev/null
while :; do
	found=
	for link in /proc/[0-9]*/cwd; do
		case $(readlink "$link") in "$1"|"$1"/*)
			found=yes
			pid=${link#/proc/}
			kill -KILL "${pid%/cwd}"
		esac
	done 2>/dev/null
	[ "$found" ] || break
	sleep 0.1
done
rm -rf "$1"
`

// newSandbox creates a directory for processes. When the test ends, these processes are killed and the directory is
// removed.
func newSandbox(t *testing.T) *pgtest.Sandbox {
	t.Helper()
	s, err := pgtest.NewSandbox("animalstore-ha-")
	must(t, err)
	stdin, alive, err := os.Pipe()
	must(t, err)
	cleaner := exec.Command("sh", "-c", cleanerScript, "sh", s.Dir)
	cleaner.Dir, cleaner.Stdin = "/", stdin
	cleaner.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // keeps Ctrl-C from reaching the cleaner
	must(t, cleaner.Start())
	must(t, stdin.Close())
	t.Cleanup(func() {
		must(t, alive.Close())
		must(t, cleaner.Wait())
	})
	return s
}

// processes returns the ids of the processes whose working directory is dir or below it. This finds all processes of
// a member: PostgreSQL is not a child process of Patroni, but its working directory is its data directory.
func processes(dir string) (ids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd") // Glob fails only for a malformed pattern
	for _, link := range links {
		at, err := os.Readlink(link)
		if err != nil || at != dir && !strings.HasPrefix(at, dir+"/") {
			continue // the process has exited, or its working directory is elsewhere
		}
		if id, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// isStopped reports whether a process is stopped or has exited.
func isStopped(id int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(rest, "T") || strings.HasPrefix(rest, "Z")
}

// freeze stops all processes in a directory. A process that is not yet stopped may start new ones, so freeze repeats
// the search until all processes are stopped.
func freeze(t *testing.T, dir string) {
	t.Helper()
	programtest.Await(t, "all processes to stop", func() bool {
		stopped := true
		for _, id := range processes(dir) {
			if !isStopped(id) {
				stopped = false
				_ = syscall.Kill(id, syscall.SIGSTOP) // the process may have exited
			}
		}
		return stopped
	})
}

// thaw lets all processes in a directory continue.
func thaw(dir string) {
	for _, id := range processes(dir) {
		_ = syscall.Kill(id, syscall.SIGCONT)
	}
}

// kill kills all processes in a directory, as a power failure would.
func kill(t *testing.T, dir string) {
	t.Helper()
	freeze(t, dir)
	programtest.Await(t, "all processes to end", func() bool {
		ids := processes(dir)
		for _, id := range ids {
			_ = syscall.Kill(id, syscall.SIGKILL)
		}
		return len(ids) == 0
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts a command and waits in the background until it exits.
func start(t *testing.T, command *exec.Cmd) {
	t.Helper()
	must(t, command.Start())
	go func() { _ = command.Wait() }() // Wait returns an error if the process was killed
}

func TestFreezeAndKillReachAllProcesses(t *testing.T) {
	t.Parallel()
	var dir string
	t.Run("in a sandbox", func(t *testing.T) {
		s := newSandbox(t)
		start(t, s.Command(s.Dir, "sh", "-c", "(sleep 1000; true) & setsid sh -c 'sleep 1000; true' & wait"))
		programtest.Await(t, "all processes", func() bool { return len(processes(s.Dir)) == 5 })
		freeze(t, s.Dir)
		for _, id := range processes(s.Dir) {
			if !isStopped(id) {
				t.Errorf("process %d is not frozen", id)
			}
		}
		thaw(s.Dir)
		for _, id := range processes(s.Dir) {
			programtest.Await(t, "the processes to continue", func() bool { return !isStopped(id) })
		}
		kill(t, s.Dir)
		start(t, s.Command(s.Dir, "sleep", "1000"))
		programtest.Await(t, "a process that is left at the end", func() bool { return len(processes(s.Dir)) == 1 })
		dir = s.Dir
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) || len(processes(dir)) > 0 {
		t.Errorf("after the test, the directory or a process is left: %v", err)
	}
}
