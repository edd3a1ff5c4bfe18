package server

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// BufferedLog is a log that buffers the lines about successful requests, because one system call per line
// would reduce the throughput by a fifth. It writes all other lines immediately.
type BufferedLog struct {
	*slog.Logger
	buffer  *lineBuffer
	stop    chan struct{}
	close   sync.Once
	flusher sync.WaitGroup
}

const (
	// logBufferSize is the number of buffered bytes at which the buffer is flushed.
	logBufferSize = 64 << 10
	// logFlushInterval is the longest time that a line stays in the buffer.
	logFlushInterval = 100 * time.Millisecond
)

// NewBufferedLog returns a log that writes to out. Call Close at the end to write the lines that are still
// buffered.
func NewBufferedLog(out io.Writer) *BufferedLog {
	buffer := &lineBuffer{out: out}
	l := &BufferedLog{
		Logger: slog.New(logHandler{slog.NewTextHandler(buffer, nil), buffer}),
		buffer: buffer,
		stop:   make(chan struct{}),
	}
	l.flusher.Go(func() {
		ticker := time.NewTicker(logFlushInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				buffer.Flush()
			case <-l.stop:
				return
			}
		}
	})
	return l
}

// Write adds one complete line about a successful request to the buffer, bypassing slog.
func (l *BufferedLog) Write(line []byte) (int, error) { return l.buffer.Write(line) }

// Close stops the periodic flush and writes all buffered lines.
func (l *BufferedLog) Close() {
	l.close.Do(func() { close(l.stop) })
	l.flusher.Wait()
	l.buffer.Flush()
}

// lineBuffer collects lines until it is full or flushed.
type lineBuffer struct {
	mu      sync.Mutex
	lines   []byte
	writing sync.Mutex // held while lines are written to out; other lines can still be collected meanwhile
	out     io.Writer
	spare   []byte
}

func (b *lineBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	b.lines = append(b.lines, line...)
	full := len(b.lines) >= logBufferSize
	b.mu.Unlock()
	if full {
		b.Flush()
	}
	return len(line), nil
}

// Flush writes the collected lines to out.
func (b *lineBuffer) Flush() {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	lines := b.lines
	b.lines = b.spare[:0]
	b.mu.Unlock()
	if len(lines) > 0 {
		b.out.Write(lines) // an error cannot be reported, because this is the log itself
	}
	b.spare = lines
}

// logHandler flushes the buffer after every record, except after records about successful requests.
type logHandler struct {
	slog.Handler
	buffer *lineBuffer
}

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Message != "request" || r.Level > slog.LevelInfo {
		h.buffer.Flush()
	}
	return err
}
