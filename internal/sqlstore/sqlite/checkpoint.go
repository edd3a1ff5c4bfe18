package sqlite

import (
	"context"
	"strconv"

	"animalstore/internal/sqlstore/engine"
)

// checkpointFrames is the number of frames in the WAL at which the writer runs a checkpoint. A checkpoint writes each
// changed page to the database file once, even if many commits have changed it, so fewer checkpoints make creates
// faster. Creates with idempotency keys, which change pages all over an index, are a quarter faster than with
// SQLite's default of 1000 frames. The last group may exceed this number, but the WAL still fits in the first hash
// table of the WAL index, which has 4062 entries. So a read still needs only one lookup for each page.
const checkpointFrames = 3500

// checkpoint moves the frames in a long WAL to the database file. If readers still need older pages, it moves
// as many frames as it can, and the next checkpoint moves the rest. Errors are ignored, because the commits
// are already durable in the WAL.
func (w *writer) checkpoint() {
	var busy, frames, checkpointed int64
	_, err := engine.FirstRow(context.Background(), w.conn, "PRAGMA wal_checkpoint(NOOP)", &busy, &frames, &checkpointed)
	if err == nil && frames >= checkpointFrames {
		w.conn.Exec(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)", nil)
	}
}

// walLimit is the size in bytes to which SQLite shrinks a longer WAL file when it starts to overwrite it from its start.
// A WAL becomes that long through imports, and through writes during a long read such as a backup. It is more than twice
// the usual size, because growing a file again takes time.
const walLimit = 32 << 20

// noAutocheckpoint disables SQLite's own checkpoints on the writer's connection. They run at the end of
// COMMIT, so readers would see a commit milliseconds before the writer calls AfterWrite. The writer
// instead runs a checkpoint after the writes of a group have returned.
var noAutocheckpoint = pragma{"wal_autocheckpoint", "0"}

// limitWAL sets walLimit.
var limitWAL = pragma{"journal_size_limit", strconv.Itoa(walLimit)}
