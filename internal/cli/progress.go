package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how far a command is: a bar on a terminal, elsewhere a line now and then.
type progress struct {
	out   io.Writer
	label string // such as "Checking"
	total int64
	done  int64
	bar   *progressbar.ProgressBar // nil: there is no terminal
	next  time.Time                // when the next line is due
}

// progressInterval is how often a line tells of the progress where there is no terminal.
const progressInterval = 10 * time.Second

func newProgress(out io.Writer, label string, total int64) *progress {
	p := &progress{out: out, label: label, total: total, next: time.Now().Add(progressInterval)}
	if isTerminal(out) {
		p.bar = progressbar.NewOptions64(max(1, total),
			progressbar.OptionSetWriter(out), progressbar.OptionSetDescription(label), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	return p
}

// add tells of so many more animals.
func (p *progress) add(n int) {
	p.done += int64(n)
	if p.bar != nil {
		p.bar.Set64(min(p.done, max(1, p.total))) // nobody could be told of an error
	} else if now := time.Now(); !now.Before(p.next) {
		p.next = now.Add(progressInterval)
		fmt.Fprintf(p.out, "%s: %d of %d animals\n", p.label, p.done, p.total)
	}
}

// clear clears the way for what is said next.
func (p *progress) clear() {
	if p.bar != nil {
		p.bar.Clear()
	}
}

// countAnimals says how many.
func countAnimals(n int) string {
	if n == 1 {
		return "1 animal"
	}
	return fmt.Sprintf("%d animals", n)
}
