package programtest

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Program is a running service.
type Program struct {
	T               *testing.T
	Command         *exec.Cmd
	Output          *Transcript // everything that the program wrote to stdout and stderr
	Exited          chan struct{}
	URL             string // the service's base URL without a path
	Client          *http.Client
	DatabaseMayFail bool // if true, database errors in the log do not fail the test
	MayFail         bool // if true, no error in the log fails the test
}

// Serve starts the service on a free port and waits until it responds.
func (f *Folder) Serve(args ...string) *Program {
	f.T.Helper()
	p := f.Start(args...)
	p.AwaitReady()
	return p
}

// ServeNodes starts n nodes at the same time and waits until all of them are ready.
func (f *Folder) ServeNodes(n int, args ...string) []*Program {
	f.T.Helper()
	var nodes []*Program
	for range n {
		nodes = append(nodes, f.Start(args...))
	}
	for _, node := range nodes {
		node.AwaitReady()
		ExpectStatus(f.T, node.Send("GET", "/readyz", "", ""), 200)
	}
	return nodes
}

// Start starts the service on a free port without waiting until it responds.
func (f *Folder) Start(args ...string) *Program {
	f.T.Helper()
	return f.Launch(exec.Command(Binary(f.T), append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...))
}

// Launch starts a command in the folder and watches it.
func (f *Folder) Launch(command *exec.Cmd) *Program {
	f.T.Helper()
	output := &Transcript{}
	command.Dir, command.Env = f.Dir, append(f.Environment(), command.Env...)
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		f.T.Fatal(err)
	}
	return f.Watch(command, output)
}

// Watch monitors a command that has been started. It kills the command when the test ends, fails the test if
// the output contains a data race or a logged error, and prints the output if the test fails.
func (f *Folder) Watch(command *exec.Cmd, output *Transcript) *Program {
	p := &Program{T: f.T, Command: command, Output: output, Exited: make(chan struct{}),
		Client: &http.Client{Transport: &http.Transport{}, Timeout: WaitTimeout}}
	go func() {
		defer close(p.Exited)
		command.Wait() // ignore the error because Stop checks the exit code
	}()
	f.T.Cleanup(func() {
		p.Kill()
		p.Client.CloseIdleConnections()
		log := output.String()
		checkForRaces(f.T, log)
		for line := range strings.Lines(notReady.ReplaceAllString(log, "")) {
			if strings.Contains(line, "level=ERROR") && !p.MayFail && !(p.DatabaseMayFail && databaseError.MatchString(line)) {
				f.T.Errorf("unexpected error in the log: %s", line)
			}
		}
		if f.T.Failed() {
			f.T.Logf("output of %s:\n%s", command, log)
		}
	})
	return p
}

// databaseError matches log lines about errors that a database causes.
var databaseError = regexp.MustCompile(`unavailable: |msg="a database server was refused"|msg="backup failed"`)

// notReady matches the log line about a readiness check that fails because the service is about to stop. This is not
// an error.
var notReady = regexp.MustCompile(`(?m)^.* operation=readyz status=503 .*about to stop.*$`)

// listening matches the whole line, because the output may arrive in several pieces.
var listening = regexp.MustCompile(`msg=listening addr=(\S+) .*\n`)

// AwaitAddress waits until the service listens and returns its address.
func (p *Program) AwaitAddress() string {
	p.T.Helper()
	p.AwaitOutput("the listening address", listening.MatchString)
	return listening.FindStringSubmatch(p.Output.String())[1]
}

// AwaitReady waits until the service listens and responds. The rest of the start-up output, after the
// "listening" line, may arrive later.
func (p *Program) AwaitReady() {
	p.T.Helper()
	p.URL = "http://" + p.AwaitAddress()
	if a := p.Send("GET", "/livez", "", ""); a.Status != http.StatusOK {
		p.T.Fatalf("GET /livez: got %v, want 200", a)
	}
}

// AwaitOutput waits until found returns true for the output. It fails the test if the program exits first.
func (p *Program) AwaitOutput(what string, found func(output string) bool) {
	p.T.Helper()
	Await(p.T, what, func() bool {
		select {
		case <-p.Exited:
			if !found(p.Output.String()) {
				p.T.Fatalf("the program exited (%v) before it wrote %s", p.Command.ProcessState, what)
			}
		default:
		}
		return found(p.Output.String())
	})
}

// Signal sends a signal. SIGSTOP freezes the program, and SIGCONT lets it continue.
func (p *Program) Signal(signal os.Signal) {
	p.T.Helper()
	if err := p.Command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.T.Error(err)
	}
}

// Stop sends SIGTERM and checks that the exit code is 0.
func (p *Program) Stop() {
	p.T.Helper()
	p.Signal(syscall.SIGTERM)
	if code := p.ExitCode(); code != 0 {
		p.T.Fatalf("exit code after SIGTERM: got %d, want 0", code)
	}
}

// Kill sends SIGKILL and waits until the program exits.
func (p *Program) Kill() {
	p.T.Helper()
	p.Signal(syscall.SIGKILL)
	p.ExitCode()
}

// ExitCode waits until the program exits and returns the exit code.
func (p *Program) ExitCode() int {
	p.T.Helper()
	select {
	case <-p.Exited:
	case <-time.After(WaitTimeout):
		p.T.Fatalf("the program did not exit within %s", WaitTimeout)
	}
	return p.Command.ProcessState.ExitCode()
}

// Transcript is a buffer for a program's output. It is safe for concurrent use.
type Transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *Transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *Transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// Len returns the number of bytes that the program has written.
func (t *Transcript) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Len()
}

// Trim shortens the log of a process that has ended, for tests that run for days. It keeps the warnings, the
// errors and the last lines. A log that contains a data race stays complete.
func (t *Transcript) Trim() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if bytes.Contains(t.text.Bytes(), []byte("DATA RACE")) {
		return
	}
	const last = 100
	var kept bytes.Buffer
	lines := bytes.SplitAfter(t.text.Bytes(), []byte("\n"))
	for i, line := range lines {
		if i >= len(lines)-last || bytes.Contains(line, []byte("level=ERROR")) || bytes.Contains(line, []byte("level=WARN")) {
			kept.Write(line)
		}
	}
	t.text = kept
}
