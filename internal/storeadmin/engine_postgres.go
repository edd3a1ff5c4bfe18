package storeadmin

import (
	"context"
	"fmt"

	"animalstore/internal/sqlstore"
)

// lastOnServer selects the last id that a table has assigned.
const lastOnServer = "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM %[1]s_id_seq"

// snapshotOnServer begins a transaction that reads one snapshot.
const snapshotOnServer = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// postgres reads one snapshot of a server, which may stay in use. On the target of a copy it takes the lock
// that every node takes when it starts.
var postgres = engine{
	snapshot:  snapshotOnServer,
	inventory: sqlstore.PostgresInventory,
	last:      lastOnServer,

	read:      snapshotOnServer,
	write:     []string{"BEGIN", "SELECT version FROM schema_version WHERE one = 1 FOR UPDATE"},
	collation: ` COLLATE "C"`,
	own:       []string{"inventory_changes", "commits", "event_inbox"},
	events: "SELECT " + sqlstore.Events.Columns + " FROM events UNION ALL" +
		" SELECT (" + fmt.Sprintf(lastOnServer, "events") + ") + row_number() OVER (ORDER BY id)," +
		" at, type, subject, actor, data FROM event_inbox",
	// A rollback does not undo setval, unless the same transaction has restarted the sequence.
	continueAfter: []string{"ALTER SEQUENCE %[1]s_id_seq RESTART", "SELECT setval('%[1]s_id_seq', %[2]d) WHERE %[2]d > 0"},
	filled:        []string{"ANALYZE categories, pets, orders, kept_answers, events, deliveries"}, // the planner has no statistics of the new rows

	feed:   "(SELECT 0 AS waits, id, type, subject, data FROM events UNION ALL SELECT 1, id, type, subject, data FROM event_inbox)",
	newest: "e.waits DESC, e.id DESC",
	later:  "(d.waits, d.id) > (e.waits, e.id)",
	// CASE protects the cast from text that is not a number.
	idOf:      "CASE WHEN e.subject ~ '^%[1]s-?[0-9]{1,19}$' THEN CAST(substr(e.subject, %[2]d) AS BIGINT) END",
	schema:    checkServerSchema,
	integrity: func(context.Context, *checker) error { return nil }, // left to the server: see amcheck
}
