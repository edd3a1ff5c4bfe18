package sqlstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// copyPostgres reads one snapshot of a server, which may stay in use. On the target it takes the lock that
// every node takes when it starts.
var copyPostgres = copyEngine{
	read:      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
	write:     []string{"BEGIN", "SELECT version FROM schema_version WHERE one = 1 FOR UPDATE"},
	collation: ` COLLATE "C"`,
	own:       []string{"inventory_changes", "commits", "event_inbox"},
	last:      "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM %[1]s_id_seq",
	// A rollback does not undo setval, unless the same transaction has restarted the sequence.
	goOnAfter: []string{"ALTER SEQUENCE %[1]s_id_seq RESTART", "SELECT setval('%[1]s_id_seq', %[2]d) WHERE %[2]d > 0"},
	filled:    []string{"ANALYZE categories, pets, orders, kept_answers, events, deliveries"}, // the planner has no statistics of the new rows
	insert:    insertPostgres,
}

func insertPostgres(ctx context.Context, s session, table *copiedTable, next func() ([]any, error)) error {
	_, err := s.(postgresSession).conn.CopyFrom(ctx, pgx.Identifier{table.name}, table.columnNames(), pgx.CopyFromFunc(next))
	return err
}
