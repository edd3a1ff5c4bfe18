package pgtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

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
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := victim.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(stdout).ReadString('\n')
			dir := strings.TrimSpace(line)
			if err != nil || processes(dir) == "" {
				t.Errorf("the victim started no server in %q: %v", dir, err)
			}
			if err := end(victim, stdin); err != nil {
				t.Error(err)
			}
			_ = victim.Wait() // returns an error if the process was killed
			eventually(t, "the directory is removed", func() bool { _, err := os.Stat(dir); return os.IsNotExist(err) })
			eventually(t, "all processes have exited", func() bool { return processes(dir) == "" })
		})
	}
}

// processes returns the ids of the processes whose command line contains dir.
func processes(dir string) string {
	ids, _ := exec.Command("pgrep", "-f", dir).Output() // pgrep fails if it finds no process
	return string(ids)
}
