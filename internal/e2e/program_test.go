package e2e

import (
	"bytes"
	"context"
	"errors"
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

	"animalstore/internal/pgtest"
)

// patience is how long a test waits for what must happen. It only keeps a broken program from hanging the tests.
const patience = 2 * time.Minute

// adminKey is the configured key of folders that have one.
const adminKey = "the-operators-own-key"

// folder is a directory of its own to run the program in, with the variables that the program sees there.
type folder struct {
	t         *testing.T
	dir       string
	variables []string
}

// newFolder makes an empty folder.
func newFolder(t *testing.T, variables ...string) *folder {
	t.Helper()
	return &folder{t: t, dir: t.TempDir(), variables: variables}
}

// newFolderWithKey makes an empty folder in which adminKey is the configured key.
func newFolderWithKey(t *testing.T) *folder {
	t.Helper()
	return newFolder(t, "ANIMALSTORE_API_KEY="+adminKey)
}

// onBothEngines runs a test with a file as the database, and with a server.
func onBothEngines(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		test(t, "animalstore.db")
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		test(t, pgtest.Shared(t).NewDatabase(t))
	})
}

// path is the path of a file in the folder.
func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// write puts a file into the folder and returns its path.
func (f *folder) write(name, content string) string {
	f.t.Helper()
	if err := os.WriteFile(f.path(name), []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return f.path(name)
}

// read returns the content of a file in the folder.
func (f *folder) read(name string) string {
	f.t.Helper()
	content, err := os.ReadFile(f.path(name))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(content)
}

// names lists what is in the folder.
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

// environment is that of the tests without any setting of the program, so that a developer's own do not matter.
func (f *folder) environment() []string {
	var environment []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "ANIMALSTORE_") {
			environment = append(environment, variable)
		}
	}
	environment = append(environment,
		"PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GORACE=atexit_sleep_ms=0", // the race detector otherwise holds up the end of every process for a second
		"no_proxy=*")               // for curl
	return append(environment, f.variables...)
}

// result is what became of a command.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the program to its end.
func (f *folder) run(args ...string) result {
	f.t.Helper()
	return f.runCommand(binary, args...)
}

// shell runs a script, in which the program is called animalstore.
func (f *folder) shell(script string) result {
	f.t.Helper()
	return f.runCommand("sh", "-c", script)
}

func (f *folder) runCommand(name string, args ...string) result {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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

// program is the program while it runs.
type program struct {
	t       *testing.T
	command *exec.Cmd
	output  *transcript // what it wrote, log and all
	exited  chan struct{}
	url     string // where it listens
	client  *http.Client
	bereft  bool // its database is taken away, or may be too slow for once, and clients ask again: it may log that
}

// serve starts the service on a free port and waits until it answers.
func (f *folder) serve(args ...string) *program {
	f.t.Helper()
	p := f.start(args...)
	p.awaitReady()
	return p
}

// start starts the service on a free port.
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

// watch takes care of a command that has started: it ends with its test, and what it wrote is shown where that failed.
func (f *folder) watch(command *exec.Cmd, output *transcript) *program {
	p := &program{t: f.t, command: command, output: output, exited: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{}, Timeout: patience}}
	go func() {
		defer close(p.exited)
		command.Wait() // how it ended is asked by stop
	}()
	f.t.Cleanup(func() {
		p.kill()
		p.client.CloseIdleConnections()
		log := output.String()
		checkForRaces(f.t, log)
		for line := range strings.Lines(notReady.ReplaceAllString(log, "")) {
			if strings.Contains(line, "level=ERROR") && !(p.bereft && strings.Contains(line, "unavailable: ")) {
				f.t.Errorf("the program logged an error: %s", line)
			}
		}
		if f.t.Failed() {
			f.t.Logf("%s wrote:\n%s", command, log)
		}
	})
	return p
}

// notReady is the line of a health check of a node that is about to stop: no error of the program's.
var notReady = regexp.MustCompile(`(?m)^.* operation=readyz status=503 .*about to stop.*$`)

var listening = regexp.MustCompile(`msg=listening addr=(\S+) .*\n`) // the whole line: it may come in parts

// awaitReady waits until the service answers. By then it has said all that it says at its start; but what it said after the
// line that is waited for may not have arrived here yet.
func (p *program) awaitReady() {
	p.t.Helper()
	p.awaitOutput("the line that says where it listens", listening.MatchString)
	p.url = "http://" + listening.FindStringSubmatch(p.output.String())[1]
	if a := p.send("GET", "/livez", "", ""); a.status != http.StatusOK {
		p.t.Fatalf("/livez: %v", a)
	}
}

// awaitOutput waits until the program has written what is waited for.
func (p *program) awaitOutput(what string, found func(output string) bool) {
	p.t.Helper()
	await(p.t, what, func() bool {
		select {
		case <-p.exited:
			if !found(p.output.String()) {
				p.t.Fatalf("the program ended before %s: %v", what, p.command.ProcessState)
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

// stop asks the program to stop, and expects it to do so in peace.
func (p *program) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.exitCode(); code != 0 {
		p.t.Fatalf("asked to stop, the program exited with %d", code)
	}
}

// kill ends the program without a warning, and waits until it is gone.
func (p *program) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.exitCode()
}

// exitCode waits for the end of the program and returns its exit code.
func (p *program) exitCode() int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.t.Fatal("the program does not end")
	}
	return p.command.ProcessState.ExitCode()
}

// transcript keeps what a program writes.
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

// await asks again and again until it is so.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s", patience, what)
		}
	}
}

// checkForRaces looks for what the race detector has to say.
func checkForRaces(t *testing.T, output string) {
	t.Helper()
	if strings.Contains(output, "DATA RACE") {
		t.Errorf("the program has a data race:\n%s", output)
	}
}
