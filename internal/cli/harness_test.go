package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"animalstore/internal/leaktest"
	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

// TestMain runs the tests. If the test binary is started under the name animalstore, it runs the program instead.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "animalstore" {
		os.Exit(Run(os.Args[1:], os.Stdout, os.Stderr))
	}
	time.Local = time.UTC // the expected output has times in UTC
	// Without this setting, the race detector delays every exit by one second.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "ANIMALSTORE_") {
			os.Unsetenv(name) // the developer's own settings must not affect the tests
		}
	}
	leaktest.Main(m)
}

// installProgram adds the program to the PATH, for the few tests that need a process.
func installProgram(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	shoptest.OK(t, os.Symlink(shoptest.Must(os.Executable())(t), filepath.Join(dir, "animalstore")))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// adminKey is the configured API key of the service that newShop starts.
const adminKey = programtest.AdminKey

// newFolder changes to a new, empty folder and sets environment variables. Both affect the whole process, so a test
// that calls newFolder must not be parallel.
func newFolder(t *testing.T, variables ...string) *programtest.Folder {
	t.Helper()
	folder := programtest.NewFolder(t, variables...)
	t.Chdir(folder.Dir)
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	return folder
}

type result = programtest.Result

var expectRefusal = programtest.ExpectRefusal

// animalstore runs a command in this process.
func animalstore(t *testing.T, args ...string) result { return animalstoreUntil(t.Context(), args...) }

// animalstoreUntil runs a command and interrupts it when the context ends.
func animalstoreUntil(ctx context.Context, args ...string) result {
	var out, errs bytes.Buffer
	code := run(ctx, args, terminal{&out, &errs})
	return result{Code: code, Stdout: out.String(), Stderr: errs.String()}
}

// succeed runs a command that must succeed.
func succeed(t *testing.T, args ...string) result {
	t.Helper()
	r := animalstore(t, args...)
	if r.Code != 0 {
		t.Fatalf("%q: got %v, want exit code 0", args, r)
	}
	return r
}

// createKey runs the keys create command and returns the new key.
func createKey(t *testing.T, args ...string) string {
	t.Helper()
	return strings.TrimSpace(succeed(t, append([]string{"keys", "create"}, args...)...).Stdout)
}

// background is a command that runs in the background until it is interrupted, such as serve.
type background struct {
	*programtest.Program
	interrupt context.CancelFunc
	code      int // valid after Exited is closed
}

// start starts a command. Its stdout goes to out or, if out is nil, to the same transcript as its stderr.
func start(t *testing.T, out io.Writer, args ...string) *background {
	output := &programtest.Transcript{}
	if out == nil {
		out = output
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &programtest.Program{T: t, Command: &exec.Cmd{}, Output: output, Exited: make(chan struct{}), Client: http.DefaultClient}
	b := &background{p, cancel, 0}
	go func() {
		defer close(b.Exited)
		b.code = run(ctx, args, terminal{out, output})
	}()
	t.Cleanup(func() {
		b.interrupt()
		<-b.Exited
		if strings.Contains(output.String(), "level=ERROR") {
			t.Error("the service logged an error")
		}
		if t.Failed() {
			t.Logf("output of %q:\n%s", args, output)
		}
	})
	return b
}

// await waits until the output contains the text.
func (b *background) await(text string) {
	b.T.Helper()
	b.AwaitOutput(text, func(output string) bool { return strings.Contains(output, text) })
}

// exit waits until the command ends and checks its exit code.
func (b *background) exit(want int) {
	b.T.Helper()
	if <-b.Exited; b.code != want {
		b.T.Fatalf("exit code: got %d, want %d", b.code, want)
	}
}

// stop interrupts the service, as SIGTERM does, and checks that it exits with code 0.
func (b *background) stop() {
	b.T.Helper()
	b.interrupt()
	b.exit(0)
}

// addr returns the address on which the service listens.
func (b *background) addr() string { return strings.TrimPrefix(b.URL, "http://") }

// expect sends a request, checks the status of the response and returns its body.
func (b *background) expect(status int, method, path, key, body string) string {
	b.T.Helper()
	got := b.Send(method, path, key, body)
	programtest.ExpectStatus(b.T, got, status)
	return got.Body
}

// newShop starts a service in a new folder. Client commands then use this service.
func newShop(t *testing.T) (*programtest.Folder, *background) {
	t.Helper()
	folder, s := newFolder(t, "ANIMALSTORE_API_KEY="+adminKey, "ANIMALSTORE_KEY="+adminKey), serve(t)
	t.Setenv("ANIMALSTORE_URL", s.URL+"/v1")
	return folder, s
}

// serve starts the service on a free port.
func serve(t *testing.T, args ...string) *background { return serveTo(t, nil, args...) }

// serveTo is like serve, but stdout goes to out.
func serveTo(t *testing.T, out io.Writer, args ...string) *background {
	t.Helper()
	b := start(t, out, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	b.AwaitReady()
	return b
}

// serveOnTerminal starts the service with a terminal as its stdout, and returns what the terminal shows.
func serveOnTerminal(t *testing.T, args ...string) (*background, *programtest.Transcript) {
	t.Helper()
	screen, out := openTerminal(t)
	return serveTo(t, out, args...), screen
}

// openTerminal opens a pseudoterminal. screen collects the text that is written to terminal.
func openTerminal(t *testing.T) (screen *programtest.Transcript, terminal *os.File) {
	t.Helper()
	control, terminal, err := pty.Open()
	shoptest.OK(t, err)
	screen = &programtest.Transcript{}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(screen, control) // Copy returns an error when the terminal is closed
	}()
	t.Cleanup(func() {
		terminal.Close()
		<-copied
		control.Close()
		if t.Failed() {
			t.Logf("the terminal shows %q", screen)
		}
	})
	return screen, terminal
}

// awaitText waits until the terminal shows the text.
func awaitText(t *testing.T, screen *programtest.Transcript, text string) {
	t.Helper()
	programtest.Await(t, text, func() bool { return strings.Contains(screen.String(), text) })
}

// newProxy starts a proxy for the service and returns the base URL that client commands use to reach the proxy.
// handle is called for each request and may forward it to the service.
func newProxy(t *testing.T, service string, handle func(w http.ResponseWriter, r *http.Request, forward http.Handler)) string {
	t.Helper()
	forward := httputil.NewSingleHostReverseProxy(shoptest.Must(url.Parse(service))(t))
	return shoptest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, forward) })).URL + "/v1"
}
