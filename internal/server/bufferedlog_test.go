package server

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// safeBuffer can be read while it is written.
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

// What is not a request is written at once, after all that came before it; and at the end, all is.
func TestLog(t *testing.T) {
	t.Parallel()
	var out safeBuffer
	log := NewBufferedLog(&out)
	for i := range 3 {
		log.Info("request", "n", i)
	}
	for _, say := range []func(string, ...any){log.Info, log.Warn, log.Error} {
		say("something else")
		if lines := strings.Count(out.String(), "\n"); !strings.Contains(out.String(), "n=2\n") || !strings.HasSuffix(out.String(), "\"something else\"\n") {
			t.Errorf("%d lines were written:\n%s", lines, out.String())
		}
	}
	log.Error("request", "n", "failed")
	if !strings.HasSuffix(out.String(), "n=failed\n") {
		t.Errorf("a failure was not written at once:\n%s", out.String())
	}
	log.Info("request", "n", "last")
	log.Close()
	log.Close()
	if !strings.HasSuffix(out.String(), "n=last\n") || strings.Count(out.String(), "\n") != 8 {
		t.Errorf("not all was written:\n%s", out.String())
	}
}

// No line is lost, cut or mixed with another, however many write.
func TestLogOfMany(t *testing.T) {
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
			t.Errorf("of the writer %d there are %d lines", w, n)
		}
	}
}
