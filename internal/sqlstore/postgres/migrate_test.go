package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
)

// migrateBy applies the given steps to a database. These must be the first migrations, in order. migrateBy waits for
// the lock on the schema until ctx ends.
func migrateBy(t *testing.T, ctx context.Context, database string, steps []string) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	must(t, err)
	for i := 0; i < len(steps) && err == nil; i++ {
		err = migrateNext(t.Context(), ctx, conn, steps)
	}
	return errors.Join(err, conn.Close(context.Background()))
}

// If another node creates the first table at the same moment, PostgreSQL may report that the table's row type already
// exists, and not mention the table. A starting node must then try again. A test cannot hit that moment reliably, so
// this test creates only the type.
func TestTypeOfTheFirstTableMeansThatAnotherNodeMigrates(t *testing.T) {
	t.Parallel()
	database := pgtest.Shared(t).NewDatabase(t)
	db := pgtest.Connect(t, database)
	db.Do("CREATE TYPE schema_version AS ENUM ('one')")
	if err := migrateBy(t, t.Context(), database, schema); !isConcurrentMigration(err) {
		t.Errorf("got %v, want an error after which the migration is tried again", err)
	}
	db.Do("DROP TYPE schema_version")
	must(t, migrateBy(t, t.Context(), database, schema))
}

// If the start times out because another session has locked the schema, the error says so.
func TestOpenReportsALockedSchema(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	db := pgtest.Connect(t, database)
	holder, err := db.Begin()
	must(t, err)
	defer holder.Rollback()
	_, err = holder.Exec("SELECT version FROM schema_version FOR UPDATE")
	must(t, err)
	waiting, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := migrateBy(t, waiting, database, append([]string{""}, schema...)); err == nil || !strings.Contains(err.Error(), "another node or a copy") {
		t.Errorf("got %v, want another node or a copy", err)
	}
}
