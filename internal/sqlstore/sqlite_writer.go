package sqlstore

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"animalstore/internal/shop"
)

// maxBatch bounds how many writes share one commit, and so how long the first of them waits for the last.
const maxBatch = 256

// writer runs all writes of a store, one after the other, on the one connection that writes.
//
// It commits in groups: writes that wait together share one transaction and are answered after the one fsync. Answers wait
// for the commit also where a member failed: what it saw may have been written by the members before it.
type writer struct {
	conn          *conn
	file          *openedFile
	dialect       *dialect
	metrics       *metrics
	afterWrite    func(did effects, done bool) // once for a group
	insertPets    inserter[shop.Pet]
	insertEvents  inserter[queuedEvent]
	recentWriters int // of those who wrote at once lately: half of them go on while the others are committed
	queue         chan *member
	stopped       chan struct{} // closed when the last accepted write has been answered

	mu     sync.RWMutex // held for reading while a member is handed over
	closed bool
}

// member is one write that takes part in a group.
type member struct {
	ctx   context.Context
	fn    func(shop.WriteTx) error
	err   error
	panic any
	done  chan struct{}
}

func startWriter(c *conn, f *openedFile, d *dialect, m *metrics, afterWrite func(did effects, done bool)) *writer {
	w := &writer{
		conn: c, file: f, dialect: d, metrics: m, afterWrite: afterWrite, queue: make(chan *member, maxBatch), stopped: make(chan struct{}),
		insertPets: petInserter(), insertEvents: eventInserter(),
	}
	go w.loop()
	return w
}

// write hands a closure to the writer and waits for its answer.
func (w *writer) write(ctx context.Context, fn func(shop.WriteTx) error) error {
	m := &member{ctx: ctx, fn: fn, done: make(chan struct{})}
	if err := w.accept(m); err != nil {
		return shop.UnavailableError(err)
	}
	<-m.done
	if m.panic != nil {
		panic(m.panic) // where it belongs: in the goroutine of the caller
	}
	return m.err
}

func (w *writer) accept(m *member) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return errClosed
	}
	select {
	case w.queue <- m:
		return nil
	default: // to ask for the end of the context has its price
	}
	select {
	case w.queue <- m:
		return nil
	case <-m.ctx.Done():
		return m.ctx.Err()
	}
}

func (w *writer) stop() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.stopped
}

func (w *writer) loop() {
	defer close(w.stopped)
	defer w.conn.close()
	for first := range w.queue {
		again := w.commit([]*member{first}, true)
		for len(again) > 0 {
			again = w.commit(again, false) // each time there are fewer
		}
	}
}

// commit runs a group in one transaction; where it is open, joined by what arrives meanwhile. It returns the members that must
// run again because another one took the whole transaction down with it (a full disk does that); those it does not return
// have been answered. Nobody joins those who run again: whoever comes to a full disk takes the transaction down once more, and
// they would never be answered.
func (w *writer) commit(members []*member, open bool) (again []*member) {
	g := &group{writer: w, categories: map[int64]bool{}}
	if g.begin() != nil {
		for range len(w.queue) { // those who wait meanwhile are not made to wait as long again
			members = w.join(members)
		}
		finish(members, g.err)
		return nil
	}
	for i := 0; i < len(members); i++ {
		if alive := g.run(members[i]); !alive {
			w.conn.rollback()
			finish(members[i:i+1], nil)
			return append(members[:i:i], members[i+1:]...)
		}
		if open && i == len(members)-1 && len(members) < maxBatch {
			if len(w.queue) == 0 && len(members) <= w.recentWriters/2 {
				runtime.Gosched() // those who are about to write come before a commit that they would have to wait for
			}
			members = w.join(members)
		}
	}
	w.metrics.group.Observe(float64(len(members)))
	w.recentWriters = max(len(members)+len(w.queue), w.recentWriters-(w.recentWriters+15)/16)
	err := g.commit()
	w.afterWrite(g.effects, err == nil)
	finish(members, err)
	if err == nil {
		w.conn.checkpoint() // while they go on
	}
	return nil
}

// join adds one member to the group where one is waiting.
func (w *writer) join(group []*member) []*member {
	select {
	case m, ok := <-w.queue:
		if ok {
			return append(group, m)
		}
	default:
	}
	return group
}

// call runs the closure; a panic stays with its member.
func (m *member) call(tx *tx) error {
	defer func() {
		if p := recover(); p != nil {
			m.panic = fmt.Sprintf("%v\n\nin a write:\n%s", p, debug.Stack())
		}
	}()
	return m.fn(tx)
}

// finish tells the members that it is over; err fails them all.
func finish(group []*member, err error) {
	for _, m := range group {
		if err != nil {
			m.err = err
		}
		close(m.done)
	}
}
