package sqlite

import "animalstore/internal/sqlstore/engine"

// writer runs all writes to a file one after another, on the only writing connection.
//
// It uses group commit, which means that writes that are waiting at the same time share one transaction and
// one fsync. Even a failed write returns only after the commit. Its error may depend on rows written by
// earlier writes of the group, and these rows are not durable before the commit.
type writer struct {
	queue         *engine.Queue
	conn          *Conn
	file          *openedFile
	options       engine.Options
	recentWriters int           // the number of writes that were recently running or waiting at the same time
	stopped       chan struct{} // closed when all accepted writes have returned
}

func startWriter(c *Conn, f *openedFile, o engine.Options) *writer {
	w := &writer{queue: engine.NewQueue(), conn: c, file: f, options: o, stopped: make(chan struct{})}
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
	for first := range w.queue.Writes {
		again := w.commitGroup([]*engine.Write{first}, true)
		for len(again) > 0 {
			// This loop ends, because every call of commitGroup finishes at least one write.
			again = w.commitGroup(again, false)
		}
	}
}
