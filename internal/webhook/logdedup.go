package webhook

import "sync"

// logDedup reports an error once, however many sources see it and however often, until it is resolved for all
// of them.
type logDedup struct {
	report func(error)
	mu     sync.Mutex
	active map[string]int // how many sources currently see each error
}

func newLogDedup(report func(error)) *logDedup {
	return &logDedup{report: report, active: map[string]int{}}
}

// logSource is one source of errors. It must be used by one goroutine only.
type logSource struct {
	dedup *logDedup
	last  string // the current error, or ""
}

func (d *logDedup) newSource() *logSource { return &logSource{dedup: d} }

// observe takes the result of the latest try. nil resolves the previous error.
func (s *logSource) observe(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == s.last {
		return
	}
	s.dedup.mu.Lock()
	defer s.dedup.mu.Unlock()
	if s.last != "" {
		if s.dedup.active[s.last]--; s.dedup.active[s.last] == 0 {
			delete(s.dedup.active, s.last)
		}
	}
	if text != "" {
		if s.dedup.active[text]++; s.dedup.active[text] == 1 {
			s.dedup.report(err)
		}
	}
	s.last = text
}

// resolve marks the source's last error as resolved.
func (s *logSource) resolve() { s.observe(nil) }
