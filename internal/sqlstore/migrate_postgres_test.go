package sqlstore

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// migrateTo applies the first migrations to an empty database, as an earlier version of the program has done.
func migrateTo(t *testing.T, database string, steps []string) {
	t.Helper()
	db := pgtest.Connect(t, database)
	db.Do(steps...)
	db.Do("CREATE TABLE schema_version (one BIGINT PRIMARY KEY CHECK (one = 1), version BIGINT NOT NULL)",
		fmt.Sprintf("INSERT INTO schema_version (one, version) VALUES (1, %d)", len(steps)))
}

// While a migration is waiting for a transaction that reads a table, such as a backup, nodes of version 1.0 can still
// write.
func TestWritesContinueWhileAMigrationWaits(t *testing.T) {
	t.Parallel()
	steps, err := Migrations(Postgres)
	must(t, err)
	database := pgtest.Shared(t).NewDatabase(t)
	migrateTo(t, database, steps[:3]) // the schema of version 1.0
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
	for _, version := range []int{0, 13, len(steps) - 1} { // an empty database, that of version 1.1, and that of an interrupted upgrade
		database := pgtest.Shared(t).NewDatabase(t)
		if version > 0 {
			migrateTo(t, database, steps[:version])
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

// A node of version 1.1 that still runs after the upgrade fails with its next write, because every write of this version
// inserts a row into commits. Its reads of the rows that it knows still work.
func TestWritesOfAnEarlierVersionFail(t *testing.T) {
	t.Parallel()
	steps, err := Migrations(Postgres)
	must(t, err)
	database := pgtest.Shared(t).NewDatabase(t)
	migrateTo(t, database, steps[:13]) // the schema of version 1.1
	db := pgtest.Connect(t, database)
	const write = "INSERT INTO commits (id, at, done) VALUES ('\\x01', 1, TRUE)"
	db.Do(write)
	must(t, createStore(database))
	if _, err := db.ExecContext(t.Context(), write); err == nil || !strings.Contains(err.Error(), `relation "commits" does not exist`) {
		t.Errorf("a write of version 1.1: %v", err)
	}
	if n := pgtest.Value[int](db, "SELECT count(*) FROM write_outcomes"); n != 1 {
		t.Errorf("%d outcomes were kept, want 1", n)
	}
}

// A node of version 1.1 that still runs while a store is migrated cannot write either, whichever migrations have been
// applied. It would otherwise move an animal to another category after the animals have been counted, for example.
func TestWritesOfAnEarlierVersionFailDuringTheUpgrade(t *testing.T) {
	t.Parallel()
	steps, err := Migrations(Postgres)
	must(t, err)
	for version := 14; version <= len(steps); version++ {
		database := pgtest.Shared(t).NewDatabase(t)
		migrateTo(t, database, steps[:13]) // the schema of version 1.1
		db := pgtest.Connect(t, database)
		db.Do("INSERT INTO categories (id) VALUES (1), (2)", "INSERT INTO pets (name, name_folded, category_id) VALUES ('Rex', 'rex', 1)")
		db.Do(steps[13:version]...)
		db.Do(fmt.Sprintf("UPDATE schema_version SET version = %d", version))
		_, err := db.ExecContext(t.Context(), "BEGIN; UPDATE pets SET category_id = 2; INSERT INTO commits (id, at, done) VALUES ('\\x01', 1, TRUE); COMMIT")
		if err == nil {
			t.Errorf("with %d migrations, a node of version 1.1 can write", version)
		}
		store := open(t, database, Options{})
		read(t, store, func(tx shop.ReadTx) error {
			pet, _, err := tx.Pet(1)
			must(t, err)
			counts, err := tx.CountCategories([]int64{1, 2})
			if len(counts) != 1 || counts[0].CategoryID != pet.CategoryID {
				t.Errorf("with %d migrations: the animal has the category %d, and the counts are %+v", version, pet.CategoryID, counts)
			}
			return err
		})
	}
}

// The migration counts the animals, arrivals and sales in a store of version 1.1, including those whose events have not
// been published yet.
func TestUpgradeCountsAnimals(t *testing.T) {
	t.Parallel()
	steps, err := Migrations(Postgres)
	must(t, err)
	database := pgtest.Shared(t).NewDatabase(t)
	migrateTo(t, database, steps[:13]) // the schema of version 1.1
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
