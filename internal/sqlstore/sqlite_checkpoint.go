package sqlstore

import "context"

// checkpointFrames is the number of frames in the WAL that makes the writer run a checkpoint. A page that many commits
// change is written to the database file once for each checkpoint, so fewer checkpoints make creates faster: with
// idempotency keys, whose index changes everywhere, by a quarter compared with SQLite's default of 1000. With the group
// that exceeds this number, the WAL still fits in the first hash table of the WAL index, which has 4062 entries. So a
// read needs one lookup for each page, as before.
const checkpointFrames = 3500

// checkpoint moves the frames in a long WAL to the database file. If readers still need older pages, it moves
// as many frames as it can, and the next checkpoint moves the rest. Errors are ignored, because the commits
// are already durable in the WAL.
func (w *writer) checkpoint() {
	var busy, frames, checkpointed int64
	_, err := firstRow(context.Background(), w.conn, "PRAGMA wal_checkpoint(NOOP)", &busy, &frames, &checkpointed)
	if err == nil && frames >= checkpointFrames {
		w.conn.exec(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)", nil)
	}
}

// noAutocheckpoint disables SQLite's own checkpoints on the writer's connection. They run at the end of
// COMMIT, so readers would see a commit milliseconds before the store's catalogue version changes. The writer
// instead runs a checkpoint after the members of a group have returned.
var noAutocheckpoint = pragma{"wal_autocheckpoint", "0"}
