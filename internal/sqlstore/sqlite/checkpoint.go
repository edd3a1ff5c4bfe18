package sqlite

import (
	"context"
	"strconv"
	"time"

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
	if w.erased && !time.Now().Before(w.truncateFrom) {
		if w.erased = !w.truncateWAL(); w.erased {
			w.truncateFrom = time.Now().Add(truncatePause)
		}
		return
	}
	var busy, frames, checkpointed int64
	_, err := engine.FirstRow(context.Background(), w.conn, "PRAGMA wal_checkpoint(NOOP)", &busy, &frames, &checkpointed)
	if err == nil && frames >= checkpointFrames {
		w.conn.Exec(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)", nil)
	}
}

const (
	// truncateWait is how long the writer waits for readers before it truncates the WAL. All writes wait meanwhile.
	truncateWait = 100 * time.Millisecond
	// truncatePause is the time after which the writer tries again, so that a long read does not slow the writes down.
	truncatePause = 5 * time.Second
)

// truncateWAL moves all frames of the WAL to the database file and makes the WAL empty, so that it no longer contains what was
// erased. It reports whether it could do that. It could not if a reader has needed the WAL for longer than truncateWait.
// Then the writer tries again after a later group: the housekeeping of the service writes every few seconds.
func (w *writer) truncateWAL() bool {
	if w.conn.set(pragma{"busy_timeout", strconv.FormatInt(truncateWait.Milliseconds(), 10)}) != nil {
		return false
	}
	defer w.conn.set(w.conn.pragmas[0])
	var busy, frames, checkpointed int64
	_, err := engine.FirstRow(context.Background(), w.conn, "PRAGMA wal_checkpoint(TRUNCATE)", &busy, &frames, &checkpointed)
	return err == nil && busy == 0
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
