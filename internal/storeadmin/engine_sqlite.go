package storeadmin

import "animalstore/internal/sqlstore"

// sqlite takes the write lock of the file for a copy, as source and as target. The lock file keeps out other
// services; this lock keeps out commands that work beside a service, such as those for keys.
var sqlite = engine{
	snapshot:  "BEGIN",
	inventory: sqlstore.SQLiteInventory,
	last:      "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '%[1]s'",

	read:   "BEGIN IMMEDIATE",
	write:  []string{"BEGIN IMMEDIATE"},
	events: "SELECT " + sqlstore.Events.Columns + " FROM events",
	continueAfter: []string{
		"DELETE FROM sqlite_sequence WHERE name = '%[1]s'",
		"INSERT INTO sqlite_sequence (name, seq) SELECT '%[1]s', %[2]d WHERE %[2]d > 0",
	},

	feed:      "events",
	newest:    "e.id DESC",
	later:     "d.id > e.id",
	idOf:      "CAST(substr(e.subject, %[2]d) AS INTEGER)",
	schema:    checkSQLiteSchema,
	integrity: checkSQLiteIntegrity,
}
