package storeadmin

import "animalstore/internal/sqlstore"

// fileEngine is the engine for SQLite files. A copy takes the file's write lock, both on the source and on the target. The
// lock file keeps out other services. The write lock keeps out commands that can run alongside a service, such as the
// commands for keys.
var fileEngine = engine{
	snapshot: "BEGIN",
	counts:   sqlstore.SQLiteCounts,
	last:     "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '%[1]s'",

	read:   "BEGIN IMMEDIATE",
	write:  []string{"BEGIN IMMEDIATE"},
	events: "SELECT " + sqlstore.Events.Columns + " FROM events",
	continueAfter: []string{
		"DELETE FROM sqlite_sequence WHERE name = '%[1]s'",
		"INSERT INTO sqlite_sequence (name, seq) SELECT '%[1]s', %[2]d WHERE %[2]d > 0",
	},
	// The triggers have queued the words of each copied profile and customer. They are indexed in the order of the ids instead, as those of
	// the other tables are, so that they do not keep imports waiting.
	filled: append([]string{
		"DELETE FROM profile_search_changes", "DELETE FROM internal_search_changes", "DELETE FROM customer_search_changes",
		"UPDATE search_progress SET position = 0, last = (SELECT coalesce(max(id), 0) FROM orders) WHERE list = 'orders, customers'",
		"UPDATE search_progress SET position = 0, last = (SELECT coalesce(max(id), 0) FROM profiles) WHERE list IN ('profiles', 'profiles, internal')",
	}, sqlstore.CountPets...),

	feed:      "events",
	newest:    "e.id DESC",
	later:     "d.id > e.id",
	idOf:      "CAST(substr(e.subject, %[2]d) AS INTEGER)",
	schema:    checkSQLiteSchema,
	integrity: checkSQLiteIntegrity,
}
