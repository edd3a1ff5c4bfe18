package webhook

import "sync"

// logDedup reports what goes wrong once, however many meet it and however often, until all of them are over it.
type logDedup struct {
	report func(error)
	mu     sync.Mutex
	active map[string]int // how many are in each kind of trouble
}

func newLogDedup(report func(error)) *logDedup {
	return &logDedup{report: report, active: map[string]int{}}
}

// logSource is what one of them has met last. It belongs to one goroutine.
type logSource struct {
	dedup *logDedup
	last  string // "": nothing
}

func (t *logDedup) newSource() *logSource { return &logSource{dedup: t} }

// observe takes what became of the latest try; nil is the end of the trouble.
func (t *logSource) observe(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == t.last {
		return
	}
	t.dedup.mu.Lock()
	defer t.dedup.mu.Unlock()
	if t.last != "" {
		if t.dedup.active[t.last]--; t.dedup.active[t.last] == 0 {
			delete(t.dedup.active, t.last)
		}
	}
	if text != "" {
		if t.dedup.active[text]++; t.dedup.active[text] == 1 {
			t.dedup.report(err)
		}
	}
	t.last = text
}

// resolve ends what is left of it.
func (t *logSource) resolve() { t.observe(nil) }
