// Package browsertest drives a real browser in tests: Chromium without a window.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// timeout only keeps a page that is broken from hanging the tests.
const timeout = 5 * time.Minute

// Page is a page in a browser of its own.
type Page struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	errors []string
}

// Open starts a browser with a window of this size. Whatever a page in it writes to the console as an error, or throws, fails
// the test at its end.
func Open(t *testing.T, width, height int) *Page {
	t.Helper()
	program, err := findBrowser()
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.WindowSize(width, height), chromedp.UserDataDir(t.TempDir()), chromedp.ModifyCmdFunc(ownProcessGroup))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	limited, stop := context.WithTimeout(context.Background(), timeout)
	allocated, release := chromedp.NewExecAllocator(limited, options...)
	ctx, end := chromedp.NewContext(allocated)
	p := &Page{t: t, ctx: ctx}
	t.Cleanup(func() {
		chromedp.Cancel(ctx) // waits for the browser's end
		end()
		release()
		stop()
		for _, trouble := range p.ConsoleErrors() {
			t.Errorf("the console says: %s", trouble)
		}
	})
	chromedp.ListenTarget(ctx, p.recordErrors)
	p.Run(log.Enable(), runtime.Enable())
	return p
}

// ownProcessGroup gives the browser a group of its own, which ends as a whole: the program may be a script that starts it.
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
	return "", fmt.Errorf("there is no Chromium to test the pages with; install chromium-headless-shell, as make test does")
}

func (p *Page) recordErrors(event any) {
	trouble := ""
	switch event := event.(type) {
	case *runtime.EventExceptionThrown:
		trouble = event.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		if event.Type == runtime.APITypeError {
			var parts []string
			for _, arg := range event.Args {
				parts = append(parts, strings.TrimSpace(string(arg.Value)+" "+arg.Description))
			}
			trouble = strings.Join(parts, " ")
		}
	case *log.EventEntryAdded: // also what the policy of a page has refused
		if event.Entry.Level == log.LevelError {
			trouble = event.Entry.Text + " " + event.Entry.URL
		}
	}
	if trouble != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errors = append(p.errors, trouble)
	}
}

// ConsoleErrors returns the errors on the console since it was last asked.
func (p *Page) ConsoleErrors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	troubles := p.errors
	p.errors = nil
	return troubles
}

// Run does one thing after the other on the page.
func (p *Page) Run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.t.Fatalf("%v; the console says %q", err, p.ConsoleErrors())
	}
}

// Eval runs an expression on the page, waits for what it promises, and returns it.
func Eval[T any](p *Page, expression string) (value T) {
	p.t.Helper()
	p.Run(chromedp.Evaluate(expression, &value, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	return value
}
