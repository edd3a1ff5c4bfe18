package golden

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// adminKey is the configured API key, unless the area runs the service without one.
const adminKey = "the-operators-own-key"

type process struct {
	t       *testing.T
	command *exec.Cmd
	exited  chan struct{}
	url     string // the service's URL without a path

	mu     sync.Mutex
	output bytes.Buffer
}

var listening = regexp.MustCompile(`msg=listening addr=(\S+) .*\n`)

// serve starts the service on a free port and waits until it listens. The service is killed when the test
// ends.
func serve(t *testing.T, database string, variables []string, flags ...string) *process {
	t.Helper()
	p := &process{t: t, exited: make(chan struct{})}
	p.command = exec.Command(binary(t), append([]string{"serve", "--addr", "127.0.0.1:0", "--database", database}, flags...)...)
	p.command.Dir, p.command.Env = t.TempDir(), environment(variables...)
	p.command.Stdout, p.command.Stderr = p, p
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		p.command.Wait()
	}()
	t.Cleanup(func() {
		p.command.Process.Kill()
		<-p.exited
		if t.Failed() {
			t.Logf("%s wrote:\n%s", p.command, p.log())
		}
		if strings.Contains(p.log(), "DATA RACE") || strings.Contains(p.log(), "level=ERROR") {
			t.Errorf("the program logged an error:\n%s", p.log())
		}
	})
	waitFor(t, "the service to listen", func() bool {
		select {
		case <-p.exited:
			t.Fatalf("the program ended: %s", p.log())
		default:
		}
		return listening.MatchString(p.log())
	})
	p.url = "http://" + listening.FindStringSubmatch(p.log())[1]
	return p
}

// stop stops the service and checks that the exit code is 0.
func (p *process) stop() {
	p.t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-time.After(waitLimit):
		p.t.Fatal("the program does not stop")
	}
	if code := p.command.ProcessState.ExitCode(); code != 0 {
		p.t.Fatalf("the program exited with %d: %s", code, p.log())
	}
}

// Write implements io.Writer by recording the program's output.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(text)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// run runs the program with the given arguments, fails the test if the program fails, and returns its stdout.
func run(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), binary(t), args...)
	command.Dir, command.Env, command.Stdout, command.Stderr = t.TempDir(), environment(), &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, &stderr)
	}
	return stdout.String()
}
