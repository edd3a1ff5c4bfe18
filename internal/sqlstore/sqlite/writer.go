package sqlite

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"animalstore/internal/sqlstore/engine"
)

// writer runs all writes to a file one after another, on the only writing connection.
//
// It uses group commit, which means that interactive writes that are waiting at the same time share one transaction and
// one fsync. Every other write has a transaction of its own. The queue decides what comes next.
//
// Even a failed write returns only after the commit. Its error may depend on rows written by earlier writes of the group,
// and these rows are not durable before the commit.
type writer struct {
	queue         *engine.Queue
	conn          *Conn
	file          *openedFile
	options       engine.Options
	recentWriters int           // the number of writes that were recently running or waiting at the same time
	erased        bool          // whether the WAL may contain what was erased
	truncateFrom  time.Time     // when the writer tries again to truncate the WAL
	stopped       chan struct{} // closed when all accepted writes have returned
}

// startWriter starts the writer. erased means that the WAL may contain what was erased before the file was opened.
func startWriter(c *Conn, f *openedFile, o engine.Options, erased bool) *writer {
	w := &writer{queue: engine.NewQueue(), conn: c, file: f, options: o, erased: erased, stopped: make(chan struct{})}
	go w.loop()
	return w
}

// stop refuses new writes and waits until all queued writes have finished.
func (w *writer) stop() {
	w.queue.Close()
	<-w.stopped
}

func (w *writer) loop() {
	defer close(w.stopped)
	defer w.conn.Close()
	for writes := w.queue.Next(); writes != nil; writes = w.queue.Next() {
		again := w.commitGroup(writes, writes[0].Priority == engine.Interactive)
		for len(again) > 0 {
			// This loop ends, because every call of commitGroup finishes at least one write, except for a call in which
			// SQLite rejects the changes of the unit. That happens once at most, because all writes then run alone.
			again = w.commitGroup(again, false)
		}
	}
}

// group is one transaction that is shared by several writes. They run one after another.
//
// A write that declares its rows runs on the unit, in memory. Its changes are saved together with those of other writes:
// before COMMIT, and before a write runs alone, which must see them. A write that runs alone has a savepoint, so that
// its failure undoes only its own changes. Afterwards the unit forgets its rows, because the write may have changed
// them. Nothing is kept for the next group, because another process may write in between.
type group struct {
	writer   *writer
	unit     engine.Unit
	touched  engine.Touched
	err      error // the error that ended the transaction, or nil
	rejected bool  // whether SQLite has rejected the changes of the unit, for example because of a constraint
}

// commitGroup runs writes in one transaction and commits it. If open is set, writes that arrive in the meantime join
// the group.
//
// If an error in one write ends the whole transaction, as a full disk does, commitGroup finishes this write and returns
// the others. They must run again, in a group that is not open. If the group were open, every new write could end the
// transaction once more on a full disk, and the writes that run again would wait forever.
//
// If SQLite rejects the changes of the unit, it does not say whose changes they are. All writes then run again, each of
// them alone, so that only the one with the wrong changes fails.
func (w *writer) commitGroup(writes []*engine.Write, open bool) (again []*engine.Write) {
	start := w.options.Spans.Now()
	g := &group{writer: w, unit: w.options.NewUnit()}
	if g.begin() != nil {
		// This group may already have waited a long time for the lock. The queued writes fail together with the group,
		// so that they do not have to wait just as long.
		engine.Finish(append(writes, w.queue.Drain()...), g.err)
		return nil
	}
	for i := 0; i < len(writes); i++ {
		if alive := g.run(writes[i]); !alive {
			w.conn.rollback()
			if g.rejected {
				return undeclared(writes)
			}
			engine.Finish(writes[i:i+1], nil)
			return append(writes[:i:i], writes[i+1:]...)
		}
		if open && i == len(writes)-1 && len(writes) < engine.MaxGroup {
			if w.queue.Waiting() == 0 && len(writes) <= w.recentWriters/2 {
				// Let goroutines that are about to write join this group, so that they do not have to wait
				// for the next one.
				runtime.Gosched()
			}
			writes = w.queue.Join(writes)
		}
	}
	w.options.Metrics.Group.Observe(float64(len(writes)))
	w.recentWriters = max(len(writes)+w.queue.Waiting(), w.recentWriters-(w.recentWriters+15)/16)
	err := g.commit()
	if g.rejected {
		return undeclared(writes)
	}
	w.erased = w.erased || slices.ContainsFunc(writes, func(w *engine.Write) bool { return w.Erases })
	w.options.AfterWrite(g.touched, err == nil)
	w.options.Spans.Group(start, writes, err)
	engine.Finish(writes, err)
	if err == nil {
		w.checkpoint() // the writes do not wait for this, because they have already returned
	}
	return nil
}

// undeclared makes writes run alone and returns them.
func undeclared(writes []*engine.Write) []*engine.Write {
	for _, w := range writes {
		w.Declared = nil
	}
	return writes
}

func (g *group) begin() error {
	if g.err = g.writer.file.check(); g.err == nil && g.exec("BEGIN IMMEDIATE") != nil {
		g.writer.conn.rollback()
	}
	return g.err
}

// commit saves the unit and commits the transaction. After an error, the transaction is rolled back.
func (g *group) commit() error {
	if g.save() != nil || g.writer.options.Metrics.Commit(func() error { return g.exec("COMMIT") }) != nil {
		g.writer.conn.rollback()
	}
	return g.err
}

// run runs one write. If the write fails, run undoes only the changes made by this write. It reports whether the
// transaction is still alive, because some errors, such as a full disk, make SQLite roll back the whole transaction.
func (g *group) run(w *engine.Write) (alive bool) {
	if w.Err = w.Begin(); w.Err != nil {
		return true
	}
	if w.Declared != nil {
		var b engine.Batch
		g.unit.Load(&b, []any{w.Declared})
		if g.batch(&b) != nil {
			w.Err = g.err
			return false
		}
		if w.Err = w.Call(func() error { return g.unit.Run(w.Declared) }); !errors.Is(w.Err, engine.ErrAlone) {
			return true
		}
	}
	return g.runAlone(w)
}

// runAlone runs a write behind a savepoint.
func (g *group) runAlone(w *engine.Write) (alive bool) {
	if g.save() != nil || g.exec("SAVEPOINT alone") != nil {
		w.Err = g.err
		return false
	}
	// The write runs with a context that is never cancelled. An interrupted statement would roll back the whole
	// transaction, including the changes made by other writes.
	t := &engine.Tx{Ctx: context.Background(), Conn: g.writer.conn, Convert: convertError}
	w.Err = t.Outcome(w.Call(func() error {
		touched, err := w.Alone(t)
		g.touched |= touched
		return err
	}))
	g.unit.Forget()
	if t.Failed() != nil && !g.writer.conn.inTransaction() {
		g.err = t.Failed()
		return false
	}
	after := []string{"RELEASE alone"}
	if w.Err != nil || w.Panic != nil {
		after = []string{"ROLLBACK TO alone", "RELEASE alone"}
	}
	for _, statement := range after {
		if g.exec(statement) != nil {
			// Even a write that succeeded must now fail, because its response may depend on rows that are lost.
			if w.Err = t.Failed(); w.Err == nil {
				w.Err = g.err
			}
			return false
		}
	}
	return true
}

// exec executes a statement that controls the transaction, such as COMMIT. If the statement fails, the transaction has
// ended.
func (g *group) exec(statement string) error {
	return g.fail(g.writer.conn.Exec(context.Background(), statement, nil))
}

// save writes the changes of the unit. If that fails, the transaction has ended.
func (g *group) save() error {
	var b engine.Batch
	g.touched |= g.unit.Save(&b)
	err := g.batch(&b)
	if e, ok := errors.AsType[*engine.Error](err); ok {
		g.rejected = e.Class == engine.Internal
	}
	return err
}

func (g *group) batch(b *engine.Batch) error {
	return g.fail(b.Run(context.Background(), g.writer.conn))
}

func (g *group) fail(err error) error {
	if err != nil && g.err == nil {
		g.err = convertError(err)
	}
	return g.err
}
