package sqlite

import (
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// checkpointAt is how many pages the log has when they are moved to the database: as many as SQLite would let it have.
const checkpointAt = 1000

// watchLog has SQLite note how long the log is, in place of moving it behind a commit that others wait for.
func (c *Conn) watchLog() error {
	if c.pages = sqlite3.Xsqlite3_malloc(c.tls, 4); c.pages == 0 {
		return c.failure(sqlite3.SQLITE_NOMEM, 0)
	}
	*at[int32](c.pages) = 0
	sqlite3.Xsqlite3_wal_hook(c.tls, c.db, pointer(noteLog), c.pages)
	return nil
}

// noteLog is called after each commit.
func noteLog(_ *libc.TLS, pages, _, _ uintptr, n int32) int32 {
	*at[int32](pages) = n
	return sqlite3.SQLITE_OK
}

// Checkpoint moves what is in the log of a writer to the database, once there is much of it. Where that cannot be, or not all of
// it, because somebody reads what was there before, the next one will.
func (c *Conn) Checkpoint() {
	if pages := at[int32](c.pages); *pages >= checkpointAt {
		*pages = 0
		sqlite3.Xsqlite3_wal_checkpoint_v2(c.tls, c.db, 0, sqlite3.SQLITE_CHECKPOINT_PASSIVE, 0, 0)
	}
}
