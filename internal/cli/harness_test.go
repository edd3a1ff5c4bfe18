package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"animalstore/internal/leaktest"
)

// TestMain runs the tests. Under the name animalstore, the test binary is the program itself, for the few tests
// that need a process.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "animalstore" {
		os.Exit(Run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "animalstore-cli-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err = errors.Join(err, os.Symlink(self, filepath.Join(dir, "animalstore"))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	os.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise, the race detector delays every exit by one second
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "ANIMALSTORE_") {
			os.Unsetenv(name) // the developer's own settings must not affect the tests
		}
	}
	code := m.Run()
	if code == 0 {
		if err := leaktest.Find(); err != nil {
			fmt.Println("FAIL:", err)
			code = 1
		}
	}
	return code
}

// adminKey is the configured API key in folders created by newFolderWithKey.
const adminKey = "the-operators-own-key"

// newFolder makes an empty folder the working directory of the test and sets environment variables. Commands
// run in this process, so tests that call it cannot be parallel.
func newFolder(t *testing.T, variables ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
}

func newFolderWithKey(t *testing.T) {
	t.Helper()
	newFolder(t, "ANIMALSTORE_API_KEY="+adminKey, "ANIMALSTORE_KEY="+adminKey)
}

// fileNames returns the names of the files in the folder.
func fileNames(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// result is what a command leaves behind.
type result struct {
	code           int
	stdout, stderr string
}

func (r result) String() string {
	return fmt.Sprintf("exit code %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
}

// animalstore runs a command.
func animalstore(t *testing.T, args ...string) result {
	var out, errs bytes.Buffer
	code := run(t.Context(), args, terminal{&out, &errs})
	return result{code, out.String(), errs.String()}
}

// succeed runs a command that must succeed.
func succeed(t *testing.T, args ...string) result {
	t.Helper()
	r := animalstore(t, args...)
	if r.code != 0 {
		t.Fatalf("%q: got %v, want exit code 0", args, r)
	}
	return r
}

// expectRefusal checks that a command failed with one line on stderr that contains the words.
func expectRefusal(t *testing.T, r result, code int, words ...string) {
	t.Helper()
	if r.code != code || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("got %v, want exit code %d and one line on stderr", r, code)
	}
	for _, word := range words {
		if !strings.Contains(r.stderr, word) {
			t.Errorf("stderr: got %q, want %q in it", r.stderr, word)
		}
	}
}

var issuedKey = regexp.MustCompile(`^ask_(live|test)_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}\n$`)

// createKey creates a key on the command line and returns it.
func createKey(t *testing.T, args ...string) string {
	t.Helper()
	r := succeed(t, append([]string{"keys", "create"}, args...)...)
	if !issuedKey.MatchString(r.stdout) {
		t.Fatalf("keys create: got %v, want only a key on stdout", r)
	}
	return strings.TrimSpace(r.stdout)
}

// background is a command that runs until it is interrupted.
type background struct {
	t         *testing.T
	output    *transcript
	interrupt context.CancelFunc
	exited    chan struct{}
	code      int // valid after exited is closed
}

// start starts a command in the background. Its stdout goes to out or, if out is nil, to the same transcript as
// its stderr.
func start(t *testing.T, out io.Writer, args ...string) *background {
	ctx, cancel := context.WithCancel(context.Background())
	b := &background{t: t, output: &transcript{changed: make(chan struct{})}, interrupt: cancel, exited: make(chan struct{})}
	if out == nil {
		out = b.output
	}
	go func() {
		defer close(b.exited)
		b.code = run(ctx, args, terminal{out, b.output})
	}()
	t.Cleanup(func() {
		b.interrupt()
		<-b.exited
		if t.Failed() {
			t.Logf("output of %q:\n%s", args, b.output)
		}
	})
	return b
}

// await waits until the output contains the text.
func (b *background) await(text string) {
	b.t.Helper()
	awaitText(b.t, b.output, b.exited, text)
}

func awaitText(t *testing.T, output *transcript, ended <-chan struct{}, text string) {
	t.Helper()
	for {
		now, changed := output.read()
		if strings.Contains(now, text) {
			return
		}
		select {
		case <-changed:
		case <-ended:
			if !strings.Contains(output.String(), text) {
				t.Fatalf("the command ended without %q; its output:\n%s", text, output)
			}
		}
	}
}

// exit waits until the command ends and checks its exit code.
func (b *background) exit(want int) {
	b.t.Helper()
	if <-b.exited; b.code != want {
		b.t.Fatalf("exit code: got %d, want %d; output:\n%s", b.code, want, b.output)
	}
}

// service is a running service.
type service struct {
	*background
	addr, url string
}

var listening = regexp.MustCompile(`msg=listening addr=(\S+) `)

// serve starts the service on a free port.
func serve(t *testing.T, args ...string) *service {
	t.Helper()
	return serveTo(t, nil, args...)
}

func serveTo(t *testing.T, out io.Writer, args ...string) *service {
	t.Helper()
	s := &service{background: start(t, out, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)}
	s.await("msg=listening addr=")
	s.await(" tls=") // the end of the line
	s.addr = listening.FindStringSubmatch(s.output.String())[1]
	s.url = "http://" + s.addr
	t.Cleanup(func() {
		if log := s.output.String(); strings.Contains(log, "level=ERROR") {
			t.Errorf("the service logged an error:\n%s", log)
		}
	})
	return s
}

// serveOnTerminal starts the service with a terminal as its stdout, and returns what the terminal shows.
func serveOnTerminal(t *testing.T, args ...string) (*service, *transcript) {
	t.Helper()
	screen, out := openTerminal(t)
	return serveTo(t, out, args...), screen
}

// openTerminal opens a pseudoterminal.
func openTerminal(t *testing.T) (screen *transcript, terminal *os.File) {
	t.Helper()
	control, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	screen = &transcript{changed: make(chan struct{})}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(screen, control) // returns an error when the terminal is closed
	}()
	t.Cleanup(func() {
		terminal.Close()
		<-copied
		control.Close()
	})
	return screen, terminal
}

// stop interrupts the service as SIGTERM does.
func (s *service) stop() {
	s.t.Helper()
	s.interrupt()
	s.exit(0)
}

// useForCommands makes the service the one that client commands use.
func (s *service) useForCommands() { s.t.Setenv("ANIMALSTORE_URL", s.url+"/v1") }

// newProxy starts a proxy that calls see with each request before it forwards it to the service. It returns the
// proxy's URL for client commands.
func newProxy(t *testing.T, target string, see func(*http.Request)) string {
	t.Helper()
	service, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(service)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		see(r)
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

type response struct {
	status int
	header http.Header
	body   string
}

// send sends a request to the service. Each header has the form "Name: value".
func (s *service) send(method, path, key, body string, headers ...string) response {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response{answer.StatusCode, answer.Header, string(content)}
}

// expect sends a request and checks the status of the response, whose body it returns.
func (s *service) expect(status int, method, path, key, body string, headers ...string) string {
	s.t.Helper()
	got := s.send(method, path, key, body, headers...)
	if got.status != status {
		s.t.Fatalf("%s %s: got %d %s, want %d", method, path, got.status, got.body, status)
	}
	return got.body
}

func decode[T any](t *testing.T, text string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// transcript is a buffer for output that others may wait for.
type transcript struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed when text grows
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.changed)
	t.changed = make(chan struct{})
	return t.text.Write(p)
}

func (t *transcript) read() (text string, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String(), t.changed
}

func (t *transcript) String() string {
	text, _ := t.read()
	return text
}
