package programtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Folder is a temporary directory in which the program runs with the given environment variables.
type Folder struct {
	T         *testing.T
	Dir       string
	Variables []string
}

// NewFolder creates an empty folder in which the program runs with the given environment variables.
func NewFolder(t *testing.T, variables ...string) *Folder {
	t.Helper()
	return &Folder{T: t, Dir: t.TempDir(), Variables: variables}
}

// NewFolderWithKey creates an empty folder in which AdminKey is the configured API key.
func NewFolderWithKey(t *testing.T, variables ...string) *Folder {
	t.Helper()
	return NewFolder(t, append([]string{"ANIMALSTORE_API_KEY=" + AdminKey}, variables...)...)
}

// Path returns the full path of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.Dir, name) }

// Write writes a file in the folder and returns its full path.
func (f *Folder) Write(name, content string) string {
	f.T.Helper()
	if err := os.WriteFile(f.Path(name), []byte(content), 0o600); err != nil {
		f.T.Fatal(err)
	}
	return f.Path(name)
}

func (f *Folder) Read(name string) string {
	f.T.Helper()
	content, err := os.ReadFile(f.Path(name))
	if err != nil {
		f.T.Fatal(err)
	}
	return string(content)
}

// Names returns the sorted names of all files in the folder.
func (f *Folder) Names() []string {
	f.T.Helper()
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// Environment returns the environment variables for the program. It removes the developer's own settings, so
// that they cannot affect the tests, and adds the folder's variables.
func (f *Folder) Environment() []string {
	f.T.Helper()
	var environment []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "ANIMALSTORE_") && !strings.HasPrefix(variable, "OTEL_") && !strings.HasPrefix(variable, "COLUMNS=") {
			environment = append(environment, variable)
		}
	}
	environment = append(environment,
		"PATH="+filepath.Dir(Binary(f.T))+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GORACE=atexit_sleep_ms=0", // without this setting, the race detector delays every exit by one second
		"no_proxy=*")               // keeps curl from using a proxy
	return append(environment, f.Variables...)
}

// Result contains the exit code and the output of a command that has exited.
type Result struct {
	Code           int
	Stdout, Stderr string
}

func (r Result) String() string {
	return fmt.Sprintf("exit code %d, stdout %q, stderr %q", r.Code, r.Stdout, r.Stderr)
}

// Run runs the program with the given arguments and waits until it exits.
func (f *Folder) Run(args ...string) Result {
	f.T.Helper()
	return f.RunCommand(Binary(f.T), args...)
}

// MustRun runs the program and fails the test unless the exit code is 0.
func (f *Folder) MustRun(args ...string) Result {
	f.T.Helper()
	r := f.Run(args...)
	if r.Code != 0 {
		f.T.Fatalf("%q: got %v, want exit code 0", args, r)
	}
	return r
}

// Shell runs a shell script. In the script, animalstore is a command that runs the program.
func (f *Folder) Shell(script string) Result {
	f.T.Helper()
	return f.RunCommand("sh", "-c", script)
}

// RunCommand runs any command in the folder and waits until it exits.
func (f *Folder) RunCommand(name string, args ...string) Result {
	f.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Env = f.Dir, f.Environment()
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended || ctx.Err() != nil {
		f.T.Errorf("%s %q: %v", name, args, errors.Join(err, ctx.Err()))
	}
	checkForRaces(f.T, stderr.String())
	return Result{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// IssuedKey matches the entire stdout of a command that issues a key.
var IssuedKey = regexp.MustCompile(`^ask_(live|test)_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}\n$`)

// CreateKey creates a key on the command line and returns it.
func (f *Folder) CreateKey(args ...string) string {
	f.T.Helper()
	r := f.Run(append([]string{"keys", "create"}, args...)...)
	if r.Code != 0 || !IssuedKey.MatchString(r.Stdout) {
		f.T.Fatalf("keys create %q: got %v, want exit code 0 and a key", args, r)
	}
	return strings.TrimSpace(r.Stdout)
}

// ExpectRefusal checks the exit code, that stdout is empty, and that stderr is a single line containing all
// of the given words.
func ExpectRefusal(t *testing.T, r Result, code int, words ...string) {
	t.Helper()
	if r.Code != code {
		t.Errorf("exit code %d, want %d", r.Code, code)
	}
	if r.Stdout != "" {
		t.Errorf("stdout is %q, want nothing", r.Stdout)
	}
	if strings.Count(r.Stderr, "\n") != 1 || !strings.HasSuffix(r.Stderr, "\n") {
		t.Errorf("want exactly one line on stderr, got:\n%s", r.Stderr)
	}
	for _, word := range words {
		if !strings.Contains(r.Stderr, word) {
			t.Errorf("stderr is %q, want %q in it", r.Stderr, word)
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

// TakenAddr returns an address that is already in use. Connections to it succeed, but get no response. Tests pass the
// address to a service that must refuse to start for another reason. If the service does not refuse, it cannot listen
// on the address and exits immediately instead of running forever.
func TakenAddr(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}
