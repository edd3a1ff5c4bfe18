package sqlstore

import (
	"context"

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

func insertPostgres(ctx context.Context, s session, table *copiedTable, next func() ([]any, error)) error {
	return s.(*serverSession).conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{table.name}, table.columnNames(), pgx.CopyFromFunc(next))
		return err
	})
}
