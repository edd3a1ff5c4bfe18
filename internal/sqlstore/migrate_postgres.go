package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// migratePostgres brings the schema up to date. Nodes may start at the same time: the one that locks the
// row of schema_version migrates, and the others then find nothing to do. migratePostgres waits up to
// pgStartTimeout for a server that is starting and for that lock; the migrations themselves have no
// timeout. If existing is set and there is no store, it fails with ErrNoStore.
func migratePostgres(ctx context.Context, p *postgresEngine, existing bool) error {
	steps, err := Migrations(Postgres)
	if err != nil {
		return err
	}
	waitCtx, cancel := context.WithTimeout(ctx, pgStartTimeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		version, err := p.schemaVersion(waitCtx)
		switch {
		case err == nil && version == len(steps):
			return nil // without a write: the role may lack the right to change the schema
		case err == nil && version > len(steps):
			return errNewer(version, len(steps))
		case err == nil && version == 0 && existing:
			return ErrNoStore
		case err == nil:
			err = p.withConn(waitCtx, func(conn *pgx.Conn) error { return migrateOnce(ctx, waitCtx, conn, steps) })
		}
		if err == nil || !isRetryable(err) && !isConcurrentMigration(err) || !backOff(waitCtx, attempt) {
			return err
		}
	}
}

// pgStartTimeout is the time that a start waits for the server and for another node's migration.
const pgStartTimeout = 30 * time.Second

func (p *postgresEngine) schemaVersion(ctx context.Context) (version int, err error) {
	err = p.withConn(ctx, func(conn *pgx.Conn) (err error) {
		version, err = postgresVersion(ctx, pgxRunner{conn})
		return err
	})
	return version, err
}

// postgresVersion returns the number of migrations that have run, or 0 if there is no store.
func postgresVersion(ctx context.Context, r runner) (version int, err error) {
	var exists bool
	if _, err := firstRow(ctx, r, "SELECT to_regclass('schema_version') IS NOT NULL", &exists); err != nil || !exists {
		return 0, err
	}
	_, err = firstRow(ctx, r, "SELECT version FROM schema_version WHERE one = 1", &version)
	return version, err
}

var ErrNoStore = errors.New("there is no store in it")

const pgDuplicateTable = "42P07"

// isConcurrentMigration reports whether another node created the same table at the same time.
func isConcurrentMigration(err error) bool {
	switch pgCode(err) {
	case pgUniqueViolation, pgDuplicateTable, "XX000": // raised by PostgreSQL's own catalogue
		return true
	}
	return false
}

// migrateOnce runs the missing migrations in one transaction. waitCtx limits only the wait for the lock.
func migrateOnce(ctx, waitCtx context.Context, conn *pgx.Conn, steps []string) error {
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
		return errNewer(version, len(steps))
	}
	if version == len(steps) {
		return nil // another node has migrated meanwhile
	}
	for _, step := range steps[version:] {
		_, err := tx.Exec(ctx, step, pgx.QueryExecModeSimpleProtocol)
		if pgCode(err) == pgDuplicateTable { // not another node's table: this one holds the lock
			return fmt.Errorf("it is the database of another program: %v", err)
		}
		if err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, "UPDATE schema_version SET version = $1 WHERE one = 1", len(steps)); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// schemaLockError explains a timeout while waiting for the lock.
func schemaLockError(waitCtx context.Context, err error) error {
	if waitCtx.Err() != nil {
		return fmt.Errorf("another node or a copy has locked the schema for too long: %w", err)
	}
	return err
}
