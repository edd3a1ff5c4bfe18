package doctor

import (
	"context"
	"errors"
	"os"
	"time"

	"animalstore/internal/sqlstore"
)

// largeWAL is a size that the WAL does not reach in normal operation.
const largeWAL = 256 << 20

// checkFile opens a SQLite file read-only and examines it.
func (x *examiner) checkFile(ctx context.Context) {
	if _, err := os.Stat(x.Database); errors.Is(err, os.ErrNotExist) {
		x.warn("database", "Check --database and the folder in which the command runs; animalstore serve creates a new store.",
			"there is no database at %s", x.Database)
		return
	}
	// If there is no WAL, nobody is using the file. It is then opened as immutable, because opening it in the usual
	// way would create a WAL.
	open := sqlstore.OpenReadOnly
	if !hasWAL(x.Database) {
		open = sqlstore.OpenImmutable
		defer x.checkStillUnused()
	}
	c, err := open(ctx, x.Database)
	if err != nil {
		action := "Check --database, and that this user may read the file."
		if sqlstore.IsDamaged(err) {
			action = "Stop the service, keep the file, and restore the last backup."
		}
		x.problem("database", action, "%v", err)
		return
	}
	defer c.Close()
	var version string
	if _, err := c.First(ctx, "SELECT sqlite_version()", &version); err == nil {
		x.ok("database", "%s can be read, with SQLite %s", x.Database, version)
	}
	x.checkSchema(c)
	x.checkIntegrity(ctx, c)
	if _, wal := databaseSize(x.Database); wal > largeWAL {
		x.warn("database", "Look for a backup or another program that reads the file for long; a restart of the service empties the WAL.",
			"the WAL has %s, because a reader keeps it from being checkpointed", size(wal))
	}
	x.checkClockOfFile(ctx, c)
}

func hasWAL(database string) bool {
	_, err := os.Stat(database + "-wal")
	return err == nil
}

// checkStillUnused warns if a program began to use the file during the examination. The examination assumed that
// nobody was using it.
func (x *examiner) checkStillUnused() {
	if hasWAL(x.Database) {
		x.warn("database", "Run the command again.", "another program began to use the file during the examination, so the findings about it may be wrong")
	}
}

// checkSchema reports whether the next start will migrate the schema. The schema cannot be newer than this program,
// because OpenReadOnly would have refused it.
func (x *examiner) checkSchema(c *sqlstore.Conn) {
	steps, err := sqlstore.Migrations(c.Engine)
	switch {
	case err != nil:
		x.problem("database", "This is a bug; please report it.", "%v", err)
	case c.Version < len(steps):
		x.warn("database", "Back up the store, then start the service, which migrates it.",
			"the schema has version %d, and %d migrations are pending", c.Version, len(steps)-c.Version)
	default:
		x.ok("database", "the schema has version %d, and no migration is pending", c.Version)
	}
}

// checkIntegrity runs SQLite's quick check, which reads every page of the file.
func (x *examiner) checkIntegrity(ctx context.Context, c *sqlstore.Conn) {
	var verdict string
	if _, err := c.First(ctx, "PRAGMA quick_check(1)", &verdict); err != nil {
		verdict = err.Error()
	}
	switch {
	case ctx.Err() != nil: // the examination was interrupted
	case verdict == "ok":
		x.ok("database", "the quick check found no damage")
	default:
		x.problem("database", "Stop the service, keep the file, and restore the last backup; animalstore check says more.",
			"the file is damaged: %s", verdict)
	}
}

// futureTolerance is how far in the future a stored time may be. It allows for small corrections of the clock.
const futureTolerance = time.Minute

// checkClockOfFile checks that this machine's clock is not behind the time of the newest event or the modification
// times of the database files.
func (x *examiner) checkClockOfFile(ctx context.Context, c *sqlstore.Conn) {
	var micros int64
	found, err := c.First(ctx, "SELECT at FROM events ORDER BY id DESC LIMIT 1", &micros)
	newest, what := time.UnixMicro(micros), "the newest event"
	if err != nil || !found {
		newest = time.Time{}
	}
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(x.Database + suffix); err == nil && info.ModTime().After(newest) {
			newest, what = info.ModTime(), x.Database+suffix
		}
	}
	if ahead := newest.Sub(x.now); ahead > futureTolerance {
		x.problem("clock", "Set the clock, and keep it right with NTP.", "the clock says %s, but %s is from %s later",
			x.now.UTC().Format(time.RFC3339), what, ahead.Round(time.Second))
		return
	}
	x.ok("clock", "the clock says %s, which is later than everything that was stored", x.now.UTC().Format(time.RFC3339))
}
