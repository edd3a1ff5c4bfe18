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

// runVictim is a test process that has a server, says where, and ends when its stdin does, if it is not killed before.
func runVictim() error {
	s, err := shared()
	if err != nil {
		return err
	}
	fmt.Println(s.workspace.dir)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// TestNoProcessOrFileOutlivesTheTests ends a test process in two ways and looks for what it leaves: no process, no folder.
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
				t.Errorf("the victim has no server in %q: %v", dir, err)
			}
			if err := end(victim, stdin); err != nil {
				t.Error(err)
			}
			_ = victim.Wait() // it may have been killed
			eventually(t, "no folder is left", func() bool { _, err := os.Stat(dir); return os.IsNotExist(err) })
			eventually(t, "no process is left", func() bool { return processes(dir) == "" })
		})
	}
}

// processes returns the ids of those that have a folder in their command line.
func processes(dir string) string {
	ids, _ := exec.Command("pgrep", "-f", dir).Output() // fails when there is none
	return string(ids)
}
