package sqlstore

import "context"

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

// noAutocheckpoint is set for the writer, which checkpoints after its members have returned. SQLite's own
// checkpoint runs at the end of COMMIT: readers would see the commit milliseconds before the store's catalog
// version changes.
var noAutocheckpoint = pragma{"wal_autocheckpoint", "0"}
