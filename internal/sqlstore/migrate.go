package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
)

//go:embed migrations/sqlite/*.sql
var sqliteMigrations embed.FS

// applicationID marks a file as ours ("anml"), so that nobody's other database is taken for an empty store.
const applicationID = 0x616e6d6c

// migrate brings the schema up to date. All of it happens in one transaction that no other process can enter, so any
// number may start at once. The number of migrations that have run is the file's user_version.
func migrate(ctx context.Context, db *sql.DB) error {
	entries, err := sqliteMigrations.ReadDir("migrations/sqlite")
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return plainError(err)
	}
	defer conn.Close() // ends an open transaction, too
	version, err := schemaVersion(ctx, conn)
	if err != nil || version == len(entries) {
		return err
	}
	if version > len(entries) {
		return fmt.Errorf("it was written by a newer animalstore (schema %d; this one knows %d)", version, len(entries))
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return plainError(err)
	}
	if version, err = schemaVersion(ctx, conn); err != nil { // again: another process may have been quicker
		return err
	}
	for _, entry := range entries[min(version, len(entries)):] {
		statements, err := sqliteMigrations.ReadFile("migrations/sqlite/" + entry.Name())
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, string(statements)); err != nil {
			return fmt.Errorf("migration %s: %w", entry.Name(), err)
		}
	}
	marks := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", applicationID, max(version, len(entries)))
	_, err = conn.ExecContext(ctx, marks)
	return err
}

// checkOwner refuses the database of another program before any setting of ours changes it.
func checkOwner(ctx context.Context, dsn string) error {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return plainError(err)
	}
	defer conn.Close()
	_, err = schemaVersion(ctx, conn)
	return err
}

// schemaVersion returns how many migrations have run. It refuses a database of another program.
func schemaVersion(ctx context.Context, conn *sql.Conn) (version int, err error) {
	var application, tables int
	err = conn.QueryRowContext(ctx, `
		SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
		       (SELECT count(*) FROM sqlite_schema)`).Scan(&application, &version, &tables)
	if err != nil {
		return 0, plainError(err)
	}
	if application != applicationID && (application != 0 || version != 0 || tables != 0) {
		return 0, errors.New("it is the database of another program")
	}
	return version, nil
}
