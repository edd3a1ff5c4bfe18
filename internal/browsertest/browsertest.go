// Package browsertest controls a headless Chromium browser in tests.
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

// timeout limits how long a browser may run, so that a broken page cannot hang the tests.
const timeout = 5 * time.Minute

// Page is a web page in its own browser.
type Page struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	errors []string
}

// Open starts a browser with a window of this size. If the page logs an error on the console or does not
// catch an exception, the test fails when it ends.
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
		chromedp.Cancel(ctx) // waits until the browser has exited
		end()
		release()
		stop()
		for _, message := range p.ConsoleErrors() {
			t.Errorf("error on the console: %s", message)
		}
	})
	chromedp.ListenTarget(ctx, p.recordErrors)
	p.Run(log.Enable(), runtime.Enable())
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
	case *log.EventEntryAdded: // includes violations of the content security policy
		if event.Entry.Level == log.LevelError {
			message = event.Entry.Text + " " + event.Entry.URL
		}
	}
	if message != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errors = append(p.errors, message)
	}
}

// ConsoleErrors returns the errors logged on the console since it was last called.
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
