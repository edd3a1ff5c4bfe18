package server

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// safeBuffer is a buffer that can be read and written concurrently.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Lines about anything other than a successful request are written immediately, together with the lines
// buffered before them. Close writes the remaining lines.
func TestOnlySuccessfulRequestsAreBuffered(t *testing.T) {
	t.Parallel()
	var out safeBuffer
	log := NewBufferedLog(&out)
	for i := range 3 {
		log.Info("request", "n", i)
	}
	for _, write := range []func(string, ...any){log.Info, log.Warn, log.Error} {
		write("something else")
		if lines := strings.Count(out.String(), "\n"); !strings.Contains(out.String(), "n=2\n") || !strings.HasSuffix(out.String(), "\"something else\"\n") {
			t.Errorf("%d lines were written:\n%s", lines, out.String())
		}
	}
	log.Error("request", "n", "failed")
	if !strings.HasSuffix(out.String(), "n=failed\n") {
		t.Errorf("a failed request was not written at once:\n%s", out.String())
	}
	log.Info("request", "n", "last")
	log.Close()
	log.Close()
	if !strings.HasSuffix(out.String(), "n=last\n") || strings.Count(out.String(), "\n") != 8 {
		t.Errorf("lines are missing:\n%s", out.String())
	}
}

// With concurrent writers, no line is lost, truncated or mixed with another.
func TestConcurrentLinesStayWhole(t *testing.T) {
	t.Parallel()
	var out safeBuffer
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
			t.Fatalf("%q", line)
		}
		next[w]++
	}
	for w, n := range next {
		if n != each {
			t.Errorf("writer %d wrote %d lines", w, n)
		}
	}
}
