package doctor

import (
	"context"
	"errors"
	"os"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
	"animalstore/internal/sqlstore/sqlite"
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
		if sqlite.IsDamaged(err) {
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
			"the WAL has %s, because a reader keeps it from being checkpointed", shop.FormatBytes(wal))
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
