package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// A role without the right to create tables can open a store whose schema is up to date.
func TestOpenNeedsNoRightToCreateTables(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	direct := pgtest.Connect(t, database)
	role := "clerk_of_" + direct.Name() // the name is unique, because all databases on a server share their roles
	direct.Do("CREATE ROLE "+role+" LOGIN", "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+role,
		"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "+role)
	t.Cleanup(func() {
		direct.ExecContext(context.Background(), "DROP OWNED BY "+role)
		direct.ExecContext(context.Background(), "DROP ROLE "+role)
	})
	u, err := url.Parse(database)
	must(t, err)
	u.User = url.User(role)
	store := open(t, u.String(), Options{})
	write(t, store, adding("Rex"))
	must(t, store.Publish(t.Context()))
}

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

// While a migration is waiting for a transaction that reads a table, such as a backup, nodes of version 1.0 can still
// write.
func TestWritesContinueWhileAMigrationWaits(t *testing.T) {
	t.Parallel()
	steps, err := Migrations(Postgres)
	must(t, err)
	database := pgtest.Shared(t).NewDatabase(t)
	must(t, migrateBy(t, t.Context(), database, steps[:3])) // the schema of version 1.0
	db := pgtest.Connect(t, database)
	db.Do("INSERT INTO categories (id) VALUES (1)")
	backup, err := db.Begin()
	must(t, err)
	defer backup.Rollback()
	_, err = backup.Exec("SELECT count(*) FROM pets, orders, events, webhooks, deliveries")
	must(t, err)
	opened := make(chan error, 1)
	go func() { opened <- createStore(database) }()
	for range 2 {
		db.Await("the migration to wait", "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'deliveries'::regclass AND NOT granted)")
		// The UPDATE waits behind the migration, so it succeeds only after the migration has given up waiting for its
		// lock.
		db.Do("INSERT INTO pets (name, name_folded, category_id) VALUES ('Rex', 'rex', 1)", "UPDATE deliveries SET attempts = '[]'")
	}
	must(t, backup.Commit())
	must(t, <-opened)
	if version := pgtest.Value[int](db, "SELECT version FROM schema_version"); version != len(steps) {
		t.Errorf("the schema has version %d, want %d", version, len(steps))
	}
}

// If several nodes start at the same time on an empty database or one with an earlier schema version, the database is
// migrated only once. It then has the same schema as a new database.
func TestNodesMigrateADatabaseOnce(t *testing.T) {
	t.Parallel()
	steps, err := Migrations(Postgres)
	must(t, err)
	schema := func(database string) string {
		t.Helper()
		return pgtest.Value[string](pgtest.Connect(t, database), `
			SELECT string_agg(table_name || '.' || column_name || ' ' || data_type, E'\\n' ORDER BY table_name, column_name)
			|| (SELECT string_agg(indexdef, E'\\n' ORDER BY indexname) FROM pg_indexes WHERE schemaname = 'public')
			|| (SELECT version FROM schema_version) FROM information_schema.columns WHERE table_schema = 'public'`)
	}
	want := schema(newDatabase(t))
	for version := range len(steps) {
		database := pgtest.Shared(t).NewDatabase(t)
		if version > 0 {
			must(t, migrateBy(t, t.Context(), database, steps[:version]))
		}
		var nodes sync.WaitGroup
		for range 4 {
			nodes.Go(func() {
				if err := createStore(database); err != nil {
					t.Errorf("from version %d: %v", version, err)
				}
			})
		}
		nodes.Wait()
		if diff := cmp.Diff(want, schema(database)); diff != "" {
			t.Errorf("from version %d (-want +got):\n%s", version, diff)
		}
	}
}

// If another node creates the first table at the same moment, PostgreSQL may report that the table's row type already
// exists, and not mention the table. A starting node must then try again. A test cannot hit that moment reliably, so
// this test creates only the type.
func TestTypeOfTheFirstTableMeansThatAnotherNodeMigrates(t *testing.T) {
	t.Parallel()
	database := pgtest.Shared(t).NewDatabase(t)
	db := pgtest.Connect(t, database)
	db.Do("CREATE TYPE schema_version AS ENUM ('one')")
	steps, err := Migrations(Postgres)
	must(t, err)
	if err := migrateBy(t, t.Context(), database, steps[:1]); !isConcurrentMigration(err) {
		t.Errorf("got %v, want an error after which the migration is tried again", err)
	}
	db.Do("DROP TYPE schema_version")
	must(t, migrateBy(t, t.Context(), database, steps[:1]))
}

// If the start times out because another session has locked the schema, the error says so.
func TestOpenReportsALockedSchema(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	db := pgtest.Connect(t, database)
	db.Do("UPDATE schema_version SET version = 1")
	holder, err := db.Begin()
	must(t, err)
	defer holder.Rollback()
	_, err = holder.Exec("SELECT version FROM schema_version FOR UPDATE")
	must(t, err)
	steps, err := Migrations(Postgres)
	must(t, err)
	waiting, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := migrateBy(t, waiting, database, steps); err == nil || !strings.Contains(err.Error(), "another node or a copy") {
		t.Errorf("got %v, want another node or a copy", err)
	}
}

// The migration counts the animals, arrivals and sales in a store of version 1.1, including those whose events have not
// been published yet.
func TestUpgradeCountsAnimals(t *testing.T) {
	t.Parallel()
	steps, err := Migrations(Postgres)
	must(t, err)
	database := pgtest.Shared(t).NewDatabase(t)
	must(t, migrateBy(t, t.Context(), database, steps[:13])) // the schema of version 1.1
	direct := pgtest.Connect(t, database)
	begin := time.Now().Truncate(shop.StatsPeriod).UTC()
	insert := func(table string, age time.Duration, kind, data string) {
		direct.Do(fmt.Sprintf("INSERT INTO %s (at, type, subject, actor, data) VALUES (%d, '%s', 'x', 'system', '%s')",
			table, begin.Add(-age).UnixMicro(), kind, data))
	}
	direct.Do("INSERT INTO categories (id) VALUES (-7), (8)",
		`INSERT INTO pets (name, name_folded, category_id, status)
		VALUES ('a', 'A', -7, 'available'), ('b', 'B', -7, 'sold'), ('c', 'C', 8, NULL)`,
		// As always, these counts lack the animals whose changes have not been added yet.
		"UPDATE inventory SET n = 1 WHERE status = 'available'", "INSERT INTO inventory_changes (status, n) VALUES ('sold', 1), ('', 1)",
		"INSERT INTO pet_counts (category_id, total, available, pending, sold, unspecified) VALUES (-7, 1, 1, 0, 0, 0)")
	insertStats(insert, "events", "event_inbox")
	store := open(t, database, Options{})
	wantMigratedCounts(t, store, begin)
}
