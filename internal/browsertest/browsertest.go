// Package browsertest controls a headless Chromium browser in tests.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// timeout limits how long a page may stay open, so that a broken page cannot hang the tests.
const timeout = 10 * time.Minute

// Page is a web page with its own cookies and storage. All pages that are open at the same time share one
// browser, because starting a browser takes longer than most tests.
type Page struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	errors []string
}

// shared is the browser that all open pages use.
var shared struct {
	sync.Mutex
	pages int
	ctx   context.Context
	stop  func()
}

// acquire returns the shared browser. It starts the browser if no other page is open.
func acquire() (context.Context, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.pages == 0 {
		program, err := findBrowser()
		if err != nil {
			return nil, err
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.ModifyCmdFunc(ownProcessGroup),
			// Browsers treat 127.0.0.1 as secure even without TLS. Under the name shop.test, they treat the same
			// server as insecure, like any other server without TLS.
			chromedp.Flag("host-resolver-rules", "MAP shop.test 127.0.0.1"))
		if os.Getuid() == 0 {
			options = append(options, chromedp.NoSandbox)
		}
		allocated, release := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, end := chromedp.NewContext(allocated)
		shared.ctx, shared.stop = ctx, func() {
			chromedp.Cancel(ctx) // Cancel waits until the browser has exited
			end()
			release()
		}
		if err := chromedp.Run(ctx); err != nil {
			shared.stop()
			return nil, err
		}
	}
	shared.pages++
	return shared.ctx, nil
}

// release stops the browser after the last page was closed.
func release() {
	shared.Lock()
	defer shared.Unlock()
	if shared.pages--; shared.pages == 0 {
		shared.stop()
	}
}

// Open opens a page with the given size in pixels. If the page logs an error on the console or throws an exception
// that it does not catch, the test fails when it ends.
func Open(t *testing.T, width, height int) *Page {
	t.Helper()
	browser, err := acquire()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	limited, stop := context.WithTimeout(browser, timeout)
	ctx, end := chromedp.NewContext(limited, chromedp.WithNewBrowserContext())
	p := &Page{t: t, ctx: ctx}
	t.Cleanup(func() {
		chromedp.Cancel(ctx) // Cancel waits until the page is closed
		end()
		stop()
		for _, message := range p.ConsoleErrors() {
			t.Errorf("error on the console: %s", message)
		}
	})
	chromedp.ListenTarget(ctx, p.recordErrors)
	p.Run(log.Enable(), runtime.Enable(), emulation.SetFocusEmulationEnabled(true), chromedp.EmulateViewport(int64(width), int64(height)))
	return p
}

// ownProcessGroup makes the browser start in its own process group and kills the whole group when the browser
// is stopped. Killing only the program would not be enough, because it may be a wrapper script.
func ownProcessGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
}

func findBrowser() (string, error) {
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("found no Chromium; install chromium-headless-shell, as make test does")
}

// aborted matches what htmx logs when a request is aborted because the user leaves the page or because another request replaces
// it. That is no error. A request that fails is logged as htmx:sendError or htmx:responseError, too.
var aborted = regexp.MustCompile(`^"htmx:(afterRequest|sendAbort),`)

func (p *Page) recordErrors(event any) {
	message := ""
	switch event := event.(type) {
	case *runtime.EventExceptionThrown:
		message = event.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		if event.Type == runtime.APITypeError {
			var parts []string
			for _, arg := range event.Args {
				parts = append(parts, strings.TrimSpace(string(arg.Value)+" "+arg.Description))
			}
			message = strings.Join(parts, " ")
		}
	case *log.EventEntryAdded: // these entries include violations of the content security policy
		if event.Entry.Level == log.LevelError {
			message = event.Entry.Text + " " + event.Entry.URL
		}
	}
	if message != "" && !aborted.MatchString(message) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errors = append(p.errors, message)
	}
}

// ConsoleErrors returns the errors that were logged on the console since the last call of ConsoleErrors.
func (p *Page) ConsoleErrors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	messages := p.errors
	p.errors = nil
	return messages
}

// Run performs actions on the page one after another. It fails the test if an action fails.
func (p *Page) Run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.t.Fatalf("%v; errors on the console: %q", err, p.ConsoleErrors())
	}
}

// Eval evaluates a JavaScript expression on the page and returns its value. If the value is a promise, Eval
// waits for its result.
func Eval[T any](p *Page, expression string) (value T) {
	p.t.Helper()
	p.Run(chromedp.Evaluate(expression, &value, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	return value
}
