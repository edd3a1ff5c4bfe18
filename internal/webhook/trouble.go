package webhook

import "sync"

// troubles reports what goes wrong once, however many meet it and however often, until all of them are over it.
type troubles struct {
	report func(error)
	mu     sync.Mutex
	met    map[string]int // how many are in each kind of trouble
}

func newTroubles(report func(error)) *troubles {
	return &troubles{report: report, met: map[string]int{}}
}

// trouble is what one of them has met last. It belongs to one goroutine.
type trouble struct {
	all  *troubles
	last string // "": nothing
}

func (t *troubles) one() *trouble { return &trouble{all: t} }

// note takes what became of the latest try; nil is the end of the trouble.
func (t *trouble) note(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == t.last {
		return
	}
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	if t.last != "" {
		if t.all.met[t.last]--; t.all.met[t.last] == 0 {
			delete(t.all.met, t.last)
		}
	}
	if text != "" {
		if t.all.met[text]++; t.all.met[text] == 1 {
			t.all.report(err)
		}
	}
	t.last = text
}

// over ends what is left of it.
func (t *trouble) over() { t.note(nil) }
