package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// migratePostgres brings the schema up to date. Nodes may start together: the row that holds the version is locked while
// one of them works, and the others then find nothing left to do. A database that is just coming up is waited for, and so is
// whoever has the lock; the work itself may take as long as it takes. Where there must be a store already, none is made.
func migratePostgres(ctx context.Context, p *postgresEngine, existing bool) error {
	steps, err := readMigrations("postgres")
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, pgStartTimeout)
	defer cancel()
	for try := 0; ; try++ {
		version, err := p.schemaVersion(waiting)
		switch {
		case err == nil && version == len(steps):
			return nil // nothing is written: the role may be one that cannot change the schema
		case err == nil && version > len(steps):
			return errNewer(version, len(steps))
		case err == nil && version == 0 && existing:
			return errNoStore
		case err == nil:
			err = p.withConn(waiting, func(conn *pgx.Conn) error { return migrateOnce(ctx, waiting, conn, steps) })
		}
		if err == nil || !isRetryable(err) && !isConcurrentMigration(err) || !backOff(waiting, try) {
			return err
		}
	}
}

// pgStartTimeout is how long a start waits for a database, and for those who change its schema.
const pgStartTimeout = 30 * time.Second

func (p *postgresEngine) schemaVersion(ctx context.Context) (version int, err error) {
	err = p.withConn(ctx, func(conn *pgx.Conn) error {
		version, err = postgresVersion(ctx, pgxRunner{conn})
		return err
	})
	return version, err
}

// postgresVersion returns how many migrations have run; 0 where there is no store.
func postgresVersion(ctx context.Context, r runner) (version int, err error) {
	var made bool
	if _, err := firstRow(ctx, r, "SELECT to_regclass('schema_version') IS NOT NULL", &made); err != nil || !made {
		return 0, err
	}
	_, err = firstRow(ctx, r, "SELECT version FROM schema_version WHERE one = 1", &version)
	return version, err
}

var errNoStore = errors.New("there is no store in it")

const pgDuplicateTable = "42P07"

// isConcurrentMigration tells whether another node has made a table at the same moment.
func isConcurrentMigration(err error) bool {
	switch pgCode(err) {
	case pgUniqueViolation, pgDuplicateTable, "XX000": // PostgreSQL's own catalogue has told them apart
		return true
	}
	return false
}

// migrateOnce changes the schema in one transaction. Only for the lock on it has it no more time than waiting has.
func migrateOnce(ctx, waiting context.Context, conn *pgx.Conn, steps []string) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	const table = "CREATE TABLE IF NOT EXISTS schema_version (one BIGINT PRIMARY KEY CHECK (one = 1), version BIGINT NOT NULL)"
	for _, statement := range []string{table, "INSERT INTO schema_version (one, version) VALUES (1, 0) ON CONFLICT (one) DO NOTHING"} {
		if _, err := tx.Exec(waiting, statement); err != nil {
			return schemaLockError(waiting, err)
		}
	}
	var version int
	if err := tx.QueryRow(waiting, "SELECT version FROM schema_version WHERE one = 1 FOR UPDATE").Scan(&version); err != nil {
		return schemaLockError(waiting, err)
	}
	if version > len(steps) {
		return errNewer(version, len(steps))
	}
	if version == len(steps) {
		return nil // another node was quicker
	}
	for _, step := range steps[version:] {
		_, err := tx.Exec(ctx, step, pgx.QueryExecModeSimpleProtocol)
		if pgCode(err) == pgDuplicateTable { // it is no other node's: the row is locked
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

// schemaLockError says what was waited for, where that took too long.
func schemaLockError(waiting context.Context, err error) error {
	if waiting.Err() != nil {
		return fmt.Errorf("another node or a copy has held its schema for too long: %w", err)
	}
	return err
}
