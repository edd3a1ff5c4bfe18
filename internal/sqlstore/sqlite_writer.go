package sqlstore

import (
	"runtime"

	"animalstore/internal/shop"
)

// writer runs all writes to a store one after another, on the store's only writing connection.
//
// It uses group commit, which means that writes that are waiting at the same time share one transaction and
// one fsync. Even a failed write returns only after the commit. Its error may depend on rows written by
// earlier members, and these rows are not durable before the commit.
type writer struct {
	*writeQueue
	conn          *sqliteConn
	file          *openedFile
	dialect       *dialect
	metrics       *metrics
	spans         *spans
	afterWrite    func(changes effects, committed bool) // called for each group before its members return
	insertPets    *inserter[shop.Pet]
	insertEvents  *inserter[queuedEvent]
	insertRecords *inserter[queuedRecord]
	recentWriters int           // the number of writes that were recently running or waiting at the same time
	stopped       chan struct{} // closed when all accepted writes have returned
}

func startWriter(c *sqliteConn, f *openedFile, d *dialect, m *metrics, traces *spans, afterWrite func(changes effects, committed bool)) *writer {
	w := &writer{
		conn: c, file: f, dialect: d, metrics: m, spans: traces, afterWrite: afterWrite, writeQueue: newWriteQueue(), stopped: make(chan struct{}),
		insertPets: petInserter(), insertEvents: eventInserter(), insertRecords: recordInserter(),
	}
	go w.loop()
	return w
}

// stop refuses new writes and waits until all queued writes have finished.
func (w *writer) stop() {
	w.close()
	<-w.stopped
}

func (w *writer) loop() {
	defer close(w.stopped)
	defer w.conn.close()
	for first := range w.members {
		again := w.commit([]*member{first}, true)
		for len(again) > 0 {
			// This loop ends, because every call of commit finishes at least one member.
			again = w.commit(again, false)
		}
	}
}

// commit runs members in one transaction and commits the transaction. If open is set, writes that arrive in
// the meantime join the group.
//
// If an error in one member ends the whole transaction, as a full disk does, commit finishes this member and
// returns the others, which must run again. They run again in a group that is not open. Otherwise, on a full
// disk, every new write could end the transaction once more, and the members that run again would wait
// forever.
func (w *writer) commit(members []*member, open bool) (again []*member) {
	start := w.spans.now()
	g := &group{writer: w, categories: map[int64]bool{}}
	if g.begin() != nil {
		// This write may already have waited a long time for the lock. The queued writes fail with it, so
		// that they do not have to wait just as long.
		for range len(w.members) {
			members = w.join(members)
		}
		finish(members, g.err)
		return nil
	}
	for i := 0; i < len(members); i++ {
		g.shared = len(members) > 1
		if alive := g.run(members[i]); !alive {
			w.conn.rollback()
			finish(members[i:i+1], nil)
			return append(members[:i:i], members[i+1:]...)
		}
		if open && i == len(members)-1 && len(members) < maxGroup {
			if len(w.members) == 0 && len(members) <= w.recentWriters/2 {
				// Let goroutines that are about to write join this group, so that they do not have to wait
				// for the next one.
				runtime.Gosched()
			}
			members = w.join(members)
		}
	}
	w.metrics.group.Observe(float64(len(members)))
	w.recentWriters = max(len(members)+len(w.members), w.recentWriters-(w.recentWriters+15)/16)
	err := g.commit()
	w.afterWrite(g.changes, err == nil)
	w.spans.group(start, members, err)
	finish(members, err)
	if err == nil {
		w.checkpoint() // the members do not wait for this, because they have already returned
	}
	return nil
}
