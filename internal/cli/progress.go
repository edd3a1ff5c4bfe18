package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows a progress bar on a terminal. If the output is not a terminal, it prints a line every few
// seconds.
type progress struct {
	out   io.Writer
	label string // for example "Checking"
	items string // what is counted, for example "animals"
	total int64
	done  int64
	bar   *progressbar.ProgressBar // nil if out is not a terminal
	next  time.Time                // the time at which the next progress line is due
}

// progressInterval is the time between two lines if the output is not a terminal.
const progressInterval = 10 * time.Second

func newProgress(out io.Writer, label string, total int64) *progress {
	p := &progress{out: out, label: label, items: "animals", total: total, next: time.Now().Add(progressInterval)}
	if isTerminal(out) {
		p.bar = progressbar.NewOptions64(max(1, total),
			progressbar.OptionSetWriter(out), progressbar.OptionSetDescription(label), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	return p
}

// add records that n more items have been processed and updates the display.
func (p *progress) add(n int) {
	p.done += int64(n)
	if p.bar != nil {
		p.bar.Set64(min(p.done, max(1, p.total))) // an error while writing to stderr cannot be reported
	} else if now := time.Now(); !now.Before(p.next) {
		p.next = now.Add(progressInterval)
		fmt.Fprintf(p.out, "%s: %d of %d %s\n", p.label, p.done, p.total, p.items)
	}
}

// clear removes the progress bar from the terminal.
func (p *progress) clear() {
	if p.bar != nil {
		p.bar.Clear()
	}
}
