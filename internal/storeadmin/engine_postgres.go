package storeadmin

import (
	"context"
	"fmt"

	"animalstore/internal/sqlstore"
)

// lastOnServer selects the last id that a table has assigned.
const lastOnServer = "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM %[1]s_id_seq"

// snapshotOnServer begins a read-only transaction in which all queries see the same snapshot.
const snapshotOnServer = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// lostRows returns rules that find rows in a queue before the queue's mark. Such rows would never be read, because
// the mark says that they have been moved out of the queue.
func lostRows() (rules []rowRule) {
	for _, query := range sqlstore.LostRows() {
		rules = append(rules, rowRule{query, "%s: %s rows were marked as moved and would never be read"})
	}
	return rules
}

// serverEngine is the engine for PostgreSQL. A server may stay in use while its snapshot is read. On the target of a
// copy, the transaction holds the same lock that every node takes when it starts, so no node can start during the
// copy.
var serverEngine = engine{
	snapshot: snapshotOnServer,
	counts:   sqlstore.PostgresCounts,
	last:     lastOnServer,

	read: snapshotOnServer,
	// The triggers would record each copied row as changed since it was indexed. Instead, the statements in filled
	// record the last id that must still be indexed.
	write: []string{"BEGIN", "SELECT version FROM schema_version WHERE one = 1 FOR UPDATE",
		"ALTER TABLE pets DISABLE TRIGGER pet_search_insert", "ALTER TABLE orders DISABLE TRIGGER order_search_insert, DISABLE TRIGGER customer_search_insert",
		"ALTER TABLE profiles DISABLE TRIGGER profile_search_insert, DISABLE TRIGGER internal_search_insert"},
	collation: ` COLLATE "C"`,
	own:       []string{"pet_count_changes", "write_outcomes", "event_inbox", "queue_marks"},
	events: "SELECT " + sqlstore.Events.Columns + " FROM events UNION ALL" +
		" SELECT (" + fmt.Sprintf(lastOnServer, "events") + ") + row_number() OVER (ORDER BY id)," +
		" at, type, subject, actor, data FROM event_inbox",
	// A rollback undoes setval only if the same transaction has restarted the sequence.
	continueAfter: []string{"ALTER SEQUENCE %[1]s_id_seq RESTART", "SELECT setval('%[1]s_id_seq', %[2]d) WHERE %[2]d > 0"},
	// The query planner has no statistics about the new rows until they are analyzed.
	filled: append([]string{
		"ALTER TABLE pets ENABLE TRIGGER pet_search_insert", "ALTER TABLE orders ENABLE TRIGGER order_search_insert, ENABLE TRIGGER customer_search_insert",
		"ALTER TABLE profiles ENABLE TRIGGER profile_search_insert, ENABLE TRIGGER internal_search_insert",
		"UPDATE search_progress SET last = (SELECT coalesce(max(id), 0) FROM pets) WHERE list = 'pets'",
		"UPDATE search_progress SET last = (SELECT coalesce(max(id), 0) FROM orders) WHERE list IN ('orders', 'orders, customers')",
		"UPDATE search_progress SET last = (SELECT coalesce(max(id), 0) FROM profiles) WHERE list IN ('profiles', 'profiles, internal')",
		"ANALYZE categories, pets, profiles, profile_tags, orders, idempotency_records, events, webhook_deliveries",
	}, sqlstore.CountPets...),

	// The inbox has no index on the subject and may have many dead rows after an import, so it is read only once.
	with:   "WITH waiting AS MATERIALIZED (SELECT 1 AS waits, id, type, subject, data FROM event_inbox) ",
	feed:   "(SELECT 0 AS waits, id, type, subject, data FROM events UNION ALL SELECT * FROM waiting)",
	newest: "e.waits DESC, e.id DESC",
	later:  "(d.waits, d.id) > (e.waits, e.id)",
	// CASE prevents an error in the cast if the rest of the subject is not a number.
	idOf:      "CASE WHEN e.subject ~ '^%[1]s-?[0-9]{1,19}$' THEN CAST(substr(e.subject, %[2]d) AS BIGINT) END",
	rules:     lostRows(),
	schema:    checkServerSchema,
	integrity: func(context.Context, *checker) error { return nil }, // operators can use PostgreSQL's amcheck instead
}
