package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/sqlstore/engine"
)

// startTimeout is how long a starting node waits for the server and for a migration by another node.
const startTimeout = 30 * time.Second

// migrate brings the schema up to date. Each migration has its own transaction, so that other nodes never wait for all
// migrations at once. Several nodes may start at the same time. The node that locks the row in schema_version runs the
// next migration, and the other nodes then see that it has been applied. For each migration, migrate waits up to
// startTimeout for a server that is starting and for locks. The migrations themselves have no timeout. If
// Options.Existing is set and there is no schema, migrate returns engine.ErrNoStore.
func (e *Engine) migrate(ctx context.Context) error {
	steps := e.options.Migrations
	waitCtx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		var version int
		err := e.withConn(waitCtx, func(conn *pgx.Conn) (err error) {
			version, err = schemaVersion(waitCtx, connection{conn})
			return err
		})
		switch {
		case err == nil && version == len(steps):
			// Return without writing anything, because the role may lack the right to change the schema.
			return nil
		case err == nil && version > len(steps):
			return engine.NewerSchemaError(version, len(steps))
		case err == nil && version == 0 && e.options.Existing:
			return engine.ErrNoStore
		case err == nil:
			err = e.withConn(waitCtx, func(conn *pgx.Conn) error { return migrateNext(ctx, waitCtx, conn, steps) })
			if err == nil {
				return e.migrate(ctx)
			}
		}
		if !isRetryable(err) && !isConcurrentMigration(err) || !backOff(waitCtx, attempt) {
			return err
		}
	}
}

// schemaVersion returns the number of migrations that have been applied, or 0 if there is no schema.
func schemaVersion(ctx context.Context, c engine.Conn) (version int, err error) {
	var exists bool
	if _, err := engine.FirstRow(ctx, c, "SELECT to_regclass('schema_version') IS NOT NULL", &exists); err != nil || !exists {
		return 0, err
	}
	_, err = engine.FirstRow(ctx, c, "SELECT version FROM schema_version WHERE one = 1", &version)
	return version, err
}

const (
	pgDuplicateTable  = "42P07"
	pgDuplicateObject = "42710" // every table has a type of the same name
)

// isConcurrentMigration reports whether a migration failed because another node was creating the same table.
func isConcurrentMigration(err error) bool {
	switch pgCode(err) {
	// PostgreSQL's system catalogue raises one of these errors if two sessions create the same table.
	case pgUniqueViolation, pgDuplicateTable, pgDuplicateObject, "XX000":
		return true
	}
	return false
}

// maxMigrationWait limits how long a migration waits for a lock on a table. While it is waiting, new writes to the
// table wait behind it. So if a long transaction, such as a backup, is using the table, the migration gives up and is
// tried again later.
const maxMigrationWait = "1s"

// migrateNext runs the first missing migration, if any. waitCtx limits only the time spent waiting for the lock on the
// schema.
func migrateNext(ctx, waitCtx context.Context, conn *pgx.Conn, steps []string) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	const table = "CREATE TABLE IF NOT EXISTS schema_version (one BIGINT PRIMARY KEY CHECK (one = 1), version BIGINT NOT NULL)"
	for _, statement := range []string{table, "INSERT INTO schema_version (one, version) VALUES (1, 0) ON CONFLICT (one) DO NOTHING"} {
		if _, err := tx.Exec(waitCtx, statement); err != nil {
			return schemaLockError(waitCtx, err)
		}
	}
	var version int
	if err := tx.QueryRow(waitCtx, "SELECT version FROM schema_version WHERE one = 1 FOR UPDATE").Scan(&version); err != nil {
		return schemaLockError(waitCtx, err)
	}
	if version > len(steps) {
		return engine.NewerSchemaError(version, len(steps))
	}
	if version == len(steps) {
		return nil // another node has run the migrations in the meantime
	}
	if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '"+maxMigrationWait+"'"); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, steps[version], pgx.QueryExecModeSimpleProtocol)
	switch pgCode(err) {
	case pgDuplicateTable, pgDuplicateObject:
		// Another node cannot have created this table or type, because this node holds the lock.
		return fmt.Errorf("it is the database of another program: %v", err)
	case pgLockTimeout:
		return fmt.Errorf("a long transaction, such as that of a backup, uses a table that must change; wait until it ends, and start again: %w", err)
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "UPDATE schema_version SET version = $1 WHERE one = 1", version+1); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// schemaLockError adds an explanation to err if the wait for the lock has timed out.
func schemaLockError(waitCtx context.Context, err error) error {
	if waitCtx.Err() != nil {
		return fmt.Errorf("another node or a copy has locked the schema for too long: %w", err)
	}
	return err
}
