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
	mu    sync.Mutex
	out   io.Writer
	lines []byte
}

const (
	// maxLines is how much is collected, in bytes.
	maxLines = 64 << 10
	// linesEvery is how long a line waits at most.
	linesEvery = 100 * time.Millisecond
)

func (b *lineBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line...)
	if len(b.lines) >= maxLines {
		b.flush()
	}
	return len(line), nil
}

// Flush writes what was collected.
func (b *lineBuffer) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flush()
}

func (b *lineBuffer) flush() {
	if len(b.lines) > 0 {
		b.out.Write(b.lines) // nobody could be told of an error
		b.lines = b.lines[:0]
	}
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
	ended := make(chan struct{})
	var flushing sync.WaitGroup
	flushing.Go(func() {
		ticker := time.NewTicker(linesEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				lines.Flush()
			case <-ended:
				lines.Flush()
				return
			}
		}
	})
	return slog.New(logHandler{slog.NewTextHandler(lines, nil), lines}), lines, sync.OnceFunc(func() {
		close(ended)
		flushing.Wait()
	})
}
