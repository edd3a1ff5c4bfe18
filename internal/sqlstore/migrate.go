package sqlstore

import (
	"embed"

	"animalstore/internal/sqlstore/sqlite"
)

//go:embed migrations/sqlite/*.sql migrations/postgres/*.sql
var migrations embed.FS

//go:embed migrations/new_sqlite.sql
var newSQLite string

// Migrations returns the SQL text of each migration for an engine, in the order in which they are applied.
func Migrations(engine string) (statements []string, err error) {
	entries, err := migrations.ReadDir("migrations/" + engine)
	for _, entry := range entries {
		content, err := migrations.ReadFile("migrations/" + engine + "/" + entry.Name())
		if err != nil {
			return nil, err
		}
		statements = append(statements, string(content))
	}
	return statements, err
}

// applicationID is the application_id ("anml" in ASCII) of every SQLite file that contains a store.
const applicationID = 0x616e6d6c

// sqliteSchema returns the schema of a SQLite file that contains a store.
func sqliteSchema() (sqlite.Schema, error) {
	migrations, err := Migrations(SQLite)
	return sqlite.Schema{ApplicationID: applicationID, Migrations: migrations, New: newSQLite}, err
}
