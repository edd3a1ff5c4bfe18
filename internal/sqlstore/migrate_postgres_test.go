package sqlstore

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
)

// A role without the right to create tables can open a store whose schema is up to date.
func TestOpenNeedsNoRightToCreateTables(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	open(t, database, Options{})
	direct := openDirect(t, database)
	var name string
	if err := direct.QueryRow("SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	role := "clerk_of_" + name // unique, because all databases on a server share their roles
	for _, statement := range []string{
		"CREATE ROLE " + role + " LOGIN", "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO " + role,
		"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO " + role,
	} {
		exec(t, direct, statement)
	}
	t.Cleanup(func() {
		direct.ExecContext(context.Background(), "DROP OWNED BY "+role)
		direct.ExecContext(context.Background(), "DROP ROLE "+role)
	})
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	store := open(t, u.String(), Options{})
	if err := store.Write(t.Context(), adding("Rex")); err != nil {
		t.Error(err)
	}
	if err := store.Publish(t.Context()); err != nil {
		t.Error(err)
	}
}

// Several nodes that start at the same time on a database with any earlier schema version, or none, migrate it
// once. The result is the schema of a new database.
func TestNodesMigrateADatabaseOnce(t *testing.T) {
	t.Parallel()
	steps, err := Migrations(Postgres)
	if err != nil {
		t.Fatal(err)
	}
	schema := func(database string) (columns string) {
		err := openDirect(t, database).QueryRow(`SELECT string_agg(table_name || '.' || column_name || ' ' || data_type, E'\\n' ORDER BY table_name, column_name)
			|| (SELECT string_agg(indexdef, E'\\n' ORDER BY indexname) FROM pg_indexes WHERE schemaname = 'public')
			|| (SELECT version FROM schema_version) FROM information_schema.columns WHERE table_schema = 'public'`).Scan(&columns)
		if err != nil {
			t.Fatal(err)
		}
		return columns
	}
	want := schema(newDatabase(t))
	for version := range len(steps) {
		database := pgtest.Shared(t).NewDatabase(t)
		conn, err := pgx.Connect(t.Context(), database)
		if err != nil {
			t.Fatal(err)
		}
		if version > 0 {
			err = migrateOnce(t.Context(), t.Context(), conn, steps[:version])
		}
		if err := errors.Join(err, conn.Close(t.Context())); err != nil {
			t.Fatal(err)
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

// If the start times out because another session has locked the schema, the error says so.
func TestOpenReportsALockedSchema(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	open(t, database, Options{})
	db := openDirect(t, database)
	exec(t, db, "UPDATE schema_version SET version = 1")
	holder, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback()
	if _, err := holder.Exec("SELECT version FROM schema_version FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	steps, err := Migrations(Postgres)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	err = migrateOnce(t.Context(), waiting, conn, steps)
	if err == nil || !strings.Contains(err.Error(), "another node or a copy") {
		t.Errorf("got %v", err)
	}
}
