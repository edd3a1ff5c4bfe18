package sqlstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
)

//go:embed migrations/sqlite/*.sql migrations/postgres/*.sql
var migrations embed.FS

// Migrations returns the migrations of an engine, in order.
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

// errNewer is the error for a schema of a later version than this one.
func errNewer(version, known int) error {
	return fmt.Errorf("it was written by a newer animalstore (schema %d; this one knows %d)", version, known)
}

// applicationID marks a file as ours ("anml"). It tells a new store from the database of another program.
const applicationID = 0x616e6d6c

// migrateSQLite brings the schema up to date. It runs all missing migrations in one BEGIN IMMEDIATE
// transaction, so that any number of processes may start at once. The user_version of the file is the number
// of migrations that have run.
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
	if version, err = schemaVersion(ctx, c); err == nil { // read again under the lock: another process may have been faster
		err = applyMigrations(ctx, c, version, migrations)
	}
	if err != nil {
		c.rollback()
	}
	return err
}

// applyMigrations runs the migrations after a version and commits.
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

// schemaVersion returns the number of migrations that have run. It fails for the database of another program.
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
