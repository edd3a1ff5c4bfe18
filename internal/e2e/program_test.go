package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// waitTimeout is the timeout for every wait. It is generous because it only prevents a broken program from
// blocking the tests forever.
const waitTimeout = 2 * time.Minute

// adminKey is the configured API key in folders created by newFolderWithKey.
const adminKey = "the-operators-own-key"

// folder is a temporary directory in which the program runs with the given environment variables.
type folder struct {
	t         *testing.T
	dir       string
	variables []string
}

// newFolder creates an empty folder in which the program runs with the given environment variables.
func newFolder(t *testing.T, variables ...string) *folder {
	t.Helper()
	return &folder{t: t, dir: t.TempDir(), variables: variables}
}

// newFolderWithKey creates an empty folder in which adminKey is the configured API key.
func newFolderWithKey(t *testing.T) *folder {
	t.Helper()
	return newFolder(t, "ANIMALSTORE_API_KEY="+adminKey)
}

// path returns the full path of a file in the folder.
func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// write writes a file in the folder and returns its full path.
func (f *folder) write(name, content string) string {
	f.t.Helper()
	if err := os.WriteFile(f.path(name), []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return f.path(name)
}

func (f *folder) read(name string) string {
	f.t.Helper()
	content, err := os.ReadFile(f.path(name))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(content)
}

// names returns the sorted names of all files in the folder.
func (f *folder) names() []string {
	f.t.Helper()
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// environment returns the environment variables for the program. It removes the developer's own ANIMALSTORE_
// variables, so that they cannot affect the tests, and adds the folder's variables.
func (f *folder) environment() []string {
	var environment []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "ANIMALSTORE_") {
			environment = append(environment, variable)
		}
	}
	environment = append(environment,
		"PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GORACE=atexit_sleep_ms=0", // without this setting, the race detector delays every exit by one second
		"no_proxy=*")               // prevents curl from using a proxy
	return append(environment, f.variables...)
}

// result contains the exit code and the output of a command that has exited.
type result struct {
	code           int
	stdout, stderr string
}

func (r result) String() string {
	return fmt.Sprintf("exit code %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
}

// run runs the program with the given arguments and waits until it exits.
func (f *folder) run(args ...string) result {
	f.t.Helper()
	return f.runCommand(binary, args...)
}

// shell runs a shell script in which the command animalstore runs the program.
func (f *folder) shell(script string) result {
	f.t.Helper()
	return f.runCommand("sh", "-c", script)
}

func (f *folder) runCommand(name string, args ...string) result {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Env = f.dir, f.environment()
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended || ctx.Err() != nil {
		f.t.Errorf("%s %q: %v", name, args, errors.Join(err, ctx.Err()))
	}
	checkForRaces(f.t, stderr.String())
	return result{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

type program struct {
	t               *testing.T
	command         *exec.Cmd
	output          *transcript // everything that the program wrote to stdout and stderr
	exited          chan struct{}
	url             string // the service's base URL without a path
	client          *http.Client
	databaseMayFail bool // if true, logged "unavailable" errors do not fail the test
}

// serve starts the service on a free port and waits until it responds.
func (f *folder) serve(args ...string) *program {
	f.t.Helper()
	p := f.start(args...)
	p.awaitReady()
	return p
}

// start starts the service on a free port without waiting until it responds.
func (f *folder) start(args ...string) *program {
	f.t.Helper()
	command := f.serveCommand(args...)
	output := &transcript{}
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		f.t.Fatal(err)
	}
	return f.watch(command, output)
}

func (f *folder) serveCommand(args ...string) *exec.Cmd {
	command := exec.Command(binary, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	command.Dir, command.Env = f.dir, f.environment()
	return command
}

// watch monitors a command that has been started. It kills the command when the test ends, fails the test if
// the output contains a data race or a logged error, and prints the output if the test fails.
func (f *folder) watch(command *exec.Cmd, output *transcript) *program {
	p := &program{t: f.t, command: command, output: output, exited: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{}, Timeout: waitTimeout}}
	go func() {
		defer close(p.exited)
		command.Wait() // ignore the error because stop checks the exit code
	}()
	f.t.Cleanup(func() {
		p.kill()
		p.client.CloseIdleConnections()
		log := output.String()
		checkForRaces(f.t, log)
		for line := range strings.Lines(notReady.ReplaceAllString(log, "")) {
			if strings.Contains(line, "level=ERROR") && !(p.databaseMayFail && strings.Contains(line, "unavailable: ")) {
				f.t.Errorf("unexpected error in the log: %s", line)
			}
		}
		if f.t.Failed() {
			f.t.Logf("output of %s:\n%s", command, log)
		}
	})
	return p
}

// notReady matches the log line for a failed readiness check during shutdown, which is not an error.
var notReady = regexp.MustCompile(`(?m)^.* operation=readyz status=503 .*about to stop.*$`)

// listening matches the whole line, because the output may arrive in several pieces.
var listening = regexp.MustCompile(`msg=listening addr=(\S+) .*\n`)

// awaitReady waits until the service listens and responds. The rest of the start-up output, after the
// "listening" line, may arrive later.
func (p *program) awaitReady() {
	p.t.Helper()
	p.awaitOutput("the listening address", listening.MatchString)
	p.url = "http://" + listening.FindStringSubmatch(p.output.String())[1]
	if a := p.send("GET", "/livez", "", ""); a.status != http.StatusOK {
		p.t.Fatalf("GET /livez: got %v, want 200", a)
	}
}

// awaitOutput waits until found returns true for the output. It fails the test if the program exits first.
func (p *program) awaitOutput(what string, found func(output string) bool) {
	p.t.Helper()
	await(p.t, what, func() bool {
		select {
		case <-p.exited:
			if !found(p.output.String()) {
				p.t.Fatalf("the program exited (%v) before it wrote %s", p.command.ProcessState, what)
			}
		default:
		}
		return found(p.output.String())
	})
}

func (p *program) signal(signal os.Signal) {
	p.t.Helper()
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
}

// stop sends SIGTERM and checks that the exit code is 0.
func (p *program) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.exitCode(); code != 0 {
		p.t.Fatalf("exit code after SIGTERM: got %d, want 0", code)
	}
}

// kill sends SIGKILL and waits until the program exits.
func (p *program) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.exitCode()
}

// exitCode waits until the program exits and returns the exit code.
func (p *program) exitCode() int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(waitTimeout):
		p.t.Fatalf("the program did not exit within %s", waitTimeout)
	}
	return p.command.ProcessState.ExitCode()
}

// transcript is a buffer for a program's output. It is safe for concurrent use.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// await polls until the condition is true. It fails the test after waitTimeout.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out after %s waiting for %s", waitTimeout, what)
		}
	}
}

// checkForRaces fails the test if the output contains a data race reported by the race detector.
func checkForRaces(t *testing.T, output string) {
	t.Helper()
	if strings.Contains(output, "DATA RACE") {
		t.Errorf("the program has a data race:\n%s", output)
	}
}
