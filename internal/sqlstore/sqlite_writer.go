package sqlstore

import "animalstore/internal/shop"

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
		again := w.commitGroup([]*member{first}, true)
		for len(again) > 0 {
			// This loop ends, because every call of commitGroup finishes at least one member.
			again = w.commitGroup(again, false)
		}
	}
}
