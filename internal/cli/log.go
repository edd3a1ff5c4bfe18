package cli

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// lineBuffer collects lines. A busy service writes one for each request, and a system call for each of them would cost more
// than the answer: measured, a fifth of all requests a second.
type lineBuffer struct {
	mu      sync.Mutex
	lines   []byte
	writing sync.Mutex // held for as long as lines are written, while others are collected
	out     io.Writer
	spare   []byte
}

const (
	// maxLines is how much is collected, in bytes.
	maxLines = 64 << 10
	// linesEvery is how long a line waits at most.
	linesEvery = 100 * time.Millisecond
)

func (b *lineBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	b.lines = append(b.lines, line...)
	full := len(b.lines) >= maxLines
	b.mu.Unlock()
	if full {
		b.Flush()
	}
	return len(line), nil
}

// Flush writes what was collected.
func (b *lineBuffer) Flush() {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	lines := b.lines
	b.lines = b.spare[:0]
	b.mu.Unlock()
	if len(lines) > 0 {
		b.out.Write(lines) // nobody could be told of an error
	}
	b.spare = lines
}

// logHandler writes lines of requests that were no fault of ours a little later, and all others at once.
type logHandler struct {
	slog.Handler
	lines *lineBuffer
}

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Message != "request" || r.Level > slog.LevelInfo {
		h.lines.Flush()
	}
	return err
}

// newLog makes the log of a service, and what takes whole lines of it. When end returns, all of it is written.
func newLog(out io.Writer) (log *slog.Logger, lines *lineBuffer, end func()) {
	lines = &lineBuffer{out: out}
	stop := every(linesEvery, lines.Flush)
	return slog.New(logHandler{slog.NewTextHandler(lines, nil), lines}), lines, func() {
		stop()
		lines.Flush()
	}
}
