package sqlstore

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"animalstore/internal/shop"
)

// maxGroup bounds how many writes share one commit, and so how long the first of them waits for the last.
const maxGroup = 256

// writer runs all writes of a store, one after the other, on the store's one writing connection.
//
// It uses group commit: writes that wait together share one transaction and one fsync. A write returns only
// after the commit, even when it failed: its error may depend on rows of members before it, which are not
// durable until then.
type writer struct {
	conn          *sqliteConn
	file          *openedFile
	dialect       *dialect
	metrics       *metrics
	afterWrite    func(changes effects, committed bool) // called once for each group, before its members return
	insertPets    *inserter[shop.Pet]
	insertEvents  *inserter[queuedEvent]
	recentWriters int // how many writes were running or waiting at once lately
	queue         chan *member
	stopped       chan struct{} // closed when the last accepted write has returned

	mu     sync.RWMutex // read-locked while a member is queued, so that stop does not close the queue meanwhile
	closed bool
}

// member is one write of a group.
type member struct {
	ctx   context.Context
	fn    func(shop.WriteTx) error
	err   error
	panic any
	done  chan struct{} // closed when err and panic are final
}

func startWriter(c *sqliteConn, f *openedFile, d *dialect, m *metrics, afterWrite func(changes effects, committed bool)) *writer {
	w := &writer{
		conn: c, file: f, dialect: d, metrics: m, afterWrite: afterWrite, queue: make(chan *member, maxGroup), stopped: make(chan struct{}),
		insertPets: petInserter(), insertEvents: eventInserter(),
	}
	go w.loop()
	return w
}

// write queues a closure for the writer, and returns when its group is committed or has failed.
func (w *writer) write(ctx context.Context, fn func(shop.WriteTx) error) error {
	m := &member{ctx: ctx, fn: fn, done: make(chan struct{})}
	if err := w.accept(m); err != nil {
		return shop.UnavailableError(err)
	}
	<-m.done
	if m.panic != nil {
		panic(m.panic) // in the goroutine of the caller, which can recover it
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
	case <-m.ctx.Done():
		return m.ctx.Err()
	}
}

// stop lets the writer finish what is queued, and refuses later writes.
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
			again = w.commit(again, false) // it ends: each time at least one member fewer is left
		}
	}
}

// commit runs members in one transaction and commits it. While the group is open, it takes in writes that
// arrive meanwhile.
//
// When a member's error ends the whole transaction, as a full disk does, commit finishes that member and
// returns the others, which must run again. That group is not open: on a full disk every newcomer could end
// the transaction once more, and the members that run again would wait for ever.
func (w *writer) commit(members []*member, open bool) (again []*member) {
	g := &group{writer: w, categories: map[int64]bool{}}
	if g.begin() != nil {
		for range len(w.queue) { // it may have waited long for a lock: the queued writes fail too, and do not wait as long again
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
		if open && i == len(members)-1 && len(members) < maxGroup {
			if len(w.queue) == 0 && len(members) <= w.recentWriters/2 {
				runtime.Gosched() // let goroutines that are about to write join this commit instead of waiting for it
			}
			members = w.join(members)
		}
	}
	w.metrics.group.Observe(float64(len(members)))
	w.recentWriters = max(len(members)+len(w.queue), w.recentWriters-(w.recentWriters+15)/16)
	err := g.commit()
	w.afterWrite(g.changes, err == nil)
	finish(members, err)
	if err == nil {
		w.checkpoint() // after the members have returned
	}
	return nil
}

// join adds the next queued write, if there is one.
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

// call runs the closure, and keeps a panic for the member's own caller.
func (m *member) call(tx *tx) error {
	defer func() {
		if p := recover(); p != nil {
			m.panic = fmt.Sprintf("%v\n\nin a write:\n%s", p, debug.Stack())
		}
	}()
	return m.fn(tx)
}

// finish lets members return. A non-nil err replaces their own results.
func finish(group []*member, err error) {
	for _, m := range group {
		if err != nil {
			m.err = err
		}
		close(m.done)
	}
}

// checkpointFrames is the length of the WAL, in frames, at which it is moved to the database: SQLite's own
// default.
const checkpointFrames = 1000

// checkpoint moves the frames of a long WAL to the database. Where readers still need older pages it moves
// what it can, and the next checkpoint the rest. An error is ignored: the commits are durable in the WAL.
func (w *writer) checkpoint() {
	var busy, frames, checkpointed int64
	_, err := firstRow(context.Background(), w.conn, "PRAGMA wal_checkpoint(NOOP)", &busy, &frames, &checkpointed)
	if err == nil && frames >= checkpointFrames {
		w.conn.exec(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)", nil)
	}
}
