package sqlstore

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// copyPostgres reads one snapshot of a server that may go on. At the target it locks what every node locks at its start.
var copyPostgres = copyEngine{
	read:      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
	write:     []string{"BEGIN", "SELECT version FROM schema_version WHERE one = 1 FOR UPDATE"},
	collation: ` COLLATE "C"`,
	own:       []string{"inventory_changes", "commits", "event_inbox"},
	last:      "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM %[1]s_id_seq",
	// What setval does to a sequence stays after a rollback, unless the sequence was made anew in the same transaction.
	goOnAfter: []string{"ALTER SEQUENCE %[1]s_id_seq RESTART", "SELECT setval('%[1]s_id_seq', %[2]d) WHERE %[2]d > 0"},
	filled:    []string{"ANALYZE categories, pets, orders, kept_answers, events, deliveries"}, // until then the planner knows nothing of the rows
	insert:    insertPostgres,
}

func insertPostgres(ctx context.Context, conn *sql.Conn, table *copiedTable, next func() ([]any, error)) error {
	return conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{table.name}, table.columnNames(), pgx.CopyFromFunc(next))
		return err
	})
}

// versionOf is postgresVersion by way of database/sql.
func versionOf(ctx context.Context, db *sql.DB) (int, error) {
	return postgresVersion(ctx, sqlRunner{db})
}

// sqlRunner runs statements by way of database/sql.
type sqlRunner struct{ db *sql.DB }

func (r sqlRunner) exec(ctx context.Context, query string, args []any) error {
	_, err := r.db.ExecContext(ctx, query, args...)
	return err
}

func (r sqlRunner) query(ctx context.Context, query string, args []any) (rows, error) {
	return r.db.QueryContext(ctx, query, args...)
}
