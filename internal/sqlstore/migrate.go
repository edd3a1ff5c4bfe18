package sqlstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
)

//go:embed migrations/sqlite/*.sql migrations/postgres/*.sql
var migrations embed.FS

// Migrations returns the SQL text of each migration for an engine, in the order in which they are applied.
func Migrations(engine string) (statements []string, err error) {
	entries, err := migrations.ReadDir("migrations/" + engine)
	for _, entry := range entries {
		content, err := migrations.ReadFile("migrations/" + engine + "/" + entry.Name())
		if err != nil {
			return nil, err
		}
		statements = append(statements, string(content))
	}
	return statements, err
}

// errNewer returns the error for a schema version that this program does not know, because it is too new.
func errNewer(version, known int) error {
	return fmt.Errorf("it was written by a newer animalstore (schema %d; this one knows %d)", version, known)
}

// applicationID is the application_id ("anml" in ASCII) of every SQLite file that contains a store. It
// distinguishes a store from the database of another program.
const applicationID = 0x616e6d6c

// migrateSQLite brings the schema up to date. It runs all missing migrations in one BEGIN IMMEDIATE
// transaction, so any number of processes may start at the same time. The user_version of the file is the
// number of migrations that have been applied.
func migrateSQLite(ctx context.Context, c *sqliteConn) error {
	migrations, err := Migrations(SQLite)
	if err != nil {
		return err
	}
	version, err := schemaVersion(ctx, c)
	if err != nil || version == len(migrations) {
		return err
	}
	if version > len(migrations) {
		return errNewer(version, len(migrations))
	}
	if err := c.exec(ctx, "BEGIN IMMEDIATE", nil); err != nil {
		return describeOpenError(err)
	}
	// Read the version again under the lock, because another process may have run the migrations in the
	// meantime.
	if version, err = schemaVersion(ctx, c); err == nil {
		err = applyMigrations(ctx, c, version, migrations)
	}
	if err != nil {
		c.rollback()
	}
	return err
}

// applyMigrations runs all migrations after the given version and commits the transaction.
func applyMigrations(ctx context.Context, c *sqliteConn, version int, migrations []string) error {
	for i, statements := range migrations[min(version, len(migrations)):] {
		if err := c.script(ctx, statements); err != nil {
			return fmt.Errorf("migration %d: %w", version+i+1, err)
		}
	}
	return execAll(ctx, c,
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", max(version, len(migrations))),
		"COMMIT")
}

// schemaVersion returns the number of migrations that have been applied to a SQLite file. It returns an error if the
// file belongs to another program.
func schemaVersion(ctx context.Context, r runner) (version int, err error) {
	var application, tables int
	_, err = firstRow(ctx, r, `
		SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
		       (SELECT count(*) FROM sqlite_schema)`, &application, &version, &tables)
	if err != nil {
		return 0, describeOpenError(err)
	}
	if application != applicationID && (application != 0 || version != 0 || tables != 0) {
		return 0, errors.New("it belongs to another program")
	}
	return version, nil
}
