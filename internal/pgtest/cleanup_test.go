package pgtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"animalstore/internal/leaktest"
)

// TestMain checks that no goroutine is left after the tests, although the shared server is still running. If
// PGTEST_VICTIM is set, it calls runVictim instead.
func TestMain(m *testing.M) {
	if os.Getenv("PGTEST_VICTIM") != "" {
		if err := runVictim(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	leaktest.Main(m)
}

// runVictim starts a server, prints the path of its workspace and waits until stdin is closed. The test may
// kill the process before that.
func runVictim() error {
	s, err := shared()
	if err != nil {
		return err
	}
	fmt.Println(s.workspace.dir)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A test process that exits or is killed leaves no process and no directory behind.
func TestNoProcessOrFileOutlivesTheTests(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(*exec.Cmd, io.Closer) error{
		"killed": func(victim *exec.Cmd, _ io.Closer) error { return victim.Process.Kill() },
		"ended":  func(_ *exec.Cmd, stdin io.Closer) error { return stdin.Close() },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			victim := exec.Command(os.Args[0])
			victim.Env = append(os.Environ(), "PGTEST_VICTIM=1")
			victim.Stderr = os.Stderr
			stdin, err := victim.StdinPipe()
			must(t, err)
			stdout, err := victim.StdoutPipe()
			must(t, err)
			must(t, victim.Start())
			line, err := bufio.NewReader(stdout).ReadString('\n')
			dir := strings.TrimSpace(line)
			if err != nil || processes(dir) == "" {
				t.Errorf("the victim started no server in %q: %v", dir, err)
			}
			must(t, end(victim, stdin))
			_ = victim.Wait() // Wait returns an error if the process was killed
			Await(t, "the end of all processes", func() bool { return processes(dir) == "" })
			Await(t, "the removal of the directory", func() bool { _, err := os.Stat(dir); return os.IsNotExist(err) })
		})
	}
}

// processes returns the ids of the processes whose command line contains dir.
func processes(dir string) string {
	ids, _ := exec.Command("pgrep", "-f", dir).Output() // pgrep fails if it finds no process
	return string(ids)
}
