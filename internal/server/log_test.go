package server

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/programtest"
)

// Lines about anything other than a successful request are written immediately, together with the lines
// buffered before them. Close writes the remaining lines.
func TestOnlySuccessfulRequestsAreBuffered(t *testing.T) {
	t.Parallel()
	var out programtest.Transcript
	log := NewBufferedLog(&out)
	for i, c := range []struct {
		write    func(string, ...any)
		message  string
		buffered bool
	}{{log.Info, "request", true}, {log.Info, "else", false}, {log.Warn, "else", false}, {log.Info, "request", true},
		{log.Error, "request", false}, {log.Info, "request", true}} {
		c.write(c.message)
		if got := strings.Count(out.String(), "\n"); got != i+1 && !c.buffered {
			t.Errorf("lines after line %d: got %d, want %d:\n%s", i, got, i+1, out.String())
		}
	}
	log.Close()
	log.Close()
	if got := strings.Count(out.String(), "\n"); got != 6 {
		t.Errorf("lines after Close: got %d, want 6:\n%s", got, out.String())
	}
}

// With concurrent writers, no line is lost, truncated or mixed with another.
func TestConcurrentLinesStayWhole(t *testing.T) {
	t.Parallel()
	var out programtest.Transcript
	log := NewBufferedLog(&out)
	var writing sync.WaitGroup
	const writers, each = 8, 500
	for w := range writers {
		writing.Go(func() {
			for n := range each {
				log.Info("request", "line", fmt.Sprintf("%d/%d", w, n))
			}
		})
	}
	writing.Wait()
	log.Close()
	next := make([]int, writers)
	for line := range strings.Lines(out.String()) {
		var w, n int
		_, rest, _ := strings.Cut(line, "line=")
		if _, err := fmt.Sscanf(rest, "%d/%d\n", &w, &n); err != nil || next[w] != n {
			t.Fatalf("got the line %q, %v, want whole lines in order", line, err)
		}
		next[w]++
	}
	if slices.Min(next) != each {
		t.Errorf("lines of each writer: got %d, want %d", next, each)
	}
}

// Messages of the same kind are logged once per interval, and then the number of suppressed messages. Panics are
// always logged.
func TestErrorLogSuppressesRepeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var written programtest.Transcript
		out := newErrorLog(slog.New(slog.NewTextHandler(&written, nil)))
		for i := range 1000 {
			out.Printf("http: Accept error: accept tcp: too many open files; retrying in %dms", i)
			out.Printf("http: TLS handshake error from 10.0.0.%d:99: tls: no cipher suite supported by both client and server", i%200)
			out.Printf("http: TLS handshake error from 10.0.0.%d:99: EOF", i%200) // a port probe
		}
		out.Print("http: panic serving 10.0.0.1:99: first")
		out.Print("http: panic serving 10.0.0.1:99: second")
		time.Sleep(admission.ConnectionErrors.Interval)
		synctest.Wait()
		out.Print("http: Accept error: accept tcp: too many open files; retrying in 5ms")
		out.Print("")
		lines := strings.Split(strings.TrimSpace(written.String()), "\n")
		if len(lines) != 8 || strings.Contains(written.String(), "EOF") || !strings.Contains(lines[6], "Accept error") ||
			strings.Count(written.String(), "suppressed=999") != 2 {
			t.Errorf("got %d lines, want 8, of which two say suppressed=999:\n%s", len(lines), written.String())
		}
	})
}
