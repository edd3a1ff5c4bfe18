package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// migratePostgres brings the schema up to date. Nodes may start together: the row that holds the version is locked while
// one of them works, and the others then find nothing left to do. A database that is just coming up is waited for. Where
// there must be a store already, none is made.
func migratePostgres(ctx context.Context, db *sql.DB, existing bool) error {
	steps, err := readMigrations("postgres")
	if err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for try := 0; ; try++ {
		err := migrateOnce(limit, db, steps, existing)
		if err == nil || !mayPass(err) && !isMadeByAnother(err) || !pause(limit, try) {
			return err
		}
	}
}

var errNoStore = errors.New("there is no store in it")

const pgDuplicateTable = "42P07"

// isMadeByAnother tells whether another node has made a table at the same moment.
func isMadeByAnother(err error) bool {
	switch pgCode(err) {
	case pgUniqueViolation, pgDuplicateTable, "XX000": // PostgreSQL's own catalogue has told them apart
		return true
	}
	return false
}

func migrateOnce(ctx context.Context, db *sql.DB, steps []string, existing bool) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	const table = "CREATE TABLE IF NOT EXISTS schema_version (one BIGINT PRIMARY KEY CHECK (one = 1), version BIGINT NOT NULL)"
	for _, statement := range []string{table, "INSERT INTO schema_version (one, version) VALUES (1, 0) ON CONFLICT (one) DO NOTHING"} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	var version int
	if err := tx.QueryRowContext(ctx, "SELECT version FROM schema_version WHERE one = 1 FOR UPDATE").Scan(&version); err != nil {
		return err
	}
	if version > len(steps) {
		return errNewer(version, len(steps))
	}
	if version == len(steps) {
		return tx.Commit()
	}
	if version == 0 && existing {
		return errNoStore // what was made above goes with the transaction
	}
	for _, step := range steps[version:] {
		_, err := tx.ExecContext(ctx, step, pgx.QueryExecModeSimpleProtocol)
		if pgCode(err) == pgDuplicateTable { // it is no other node's: the row is locked
			return fmt.Errorf("it is the database of another program: %v", err)
		}
		if err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE schema_version SET version = $1 WHERE one = 1", len(steps)); err != nil {
		return err
	}
	return tx.Commit()
}
