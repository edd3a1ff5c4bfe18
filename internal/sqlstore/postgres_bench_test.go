package sqlstore

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// impatience is how long a store goes on trying where a test waits for it to give up.
const impatience = 2 * time.Second

// bench is a store whose way to its database can be broken, and a way around that, to see what is really there.
type bench struct {
	*testing.T
	store    *Store
	proxy    *pgtest.Proxy
	straight *sql.DB
}

func newBench(t *testing.T) *bench {
	t.Helper()
	database := pgtest.Shared(t).NewDatabase(t)
	proxy := pgtest.StartProxy(t, database)
	return &bench{T: t, store: open(t, proxy.URL(), Options{}), proxy: proxy, straight: openStraight(t, database)}
}

func (b *bench) engine() *postgresEngine { return b.store.engine.(*postgresEngine) }

func openStraight(t *testing.T, database string) *sql.DB {
	t.Helper()
	config, _, err := parsePostgresURL(database)
	if err != nil {
		t.Fatal(err)
	}
	config.ConnectTimeout = ample
	db := stdlib.OpenDB(*config)
	t.Cleanup(func() { db.Close() })
	return db
}

// write adds an animal of this name, and checks that it took no longer than it may.
func (b *bench) write(name string) error {
	b.Helper()
	return b.bounded("writing "+name, func() error { return b.store.Write(context.Background(), adding(name)) })
}

// startWrite is write in the background; what it returns waits for the outcome.
func (b *bench) startWrite(name string) (outcome func() error) {
	b.Helper()
	var err error
	var running sync.WaitGroup
	running.Go(func() { err = b.write(name) })
	b.Cleanup(running.Wait)
	return func() error {
		running.Wait()
		return err
	}
}

// read counts the animals of this name, through the store.
func (b *bench) read(name string) (n int, err error) {
	b.Helper()
	err = b.bounded("reading "+name, func() error {
		return b.store.Read(context.Background(), func(tx shop.ReadTx) error {
			pets, err := tx.Pets(shop.PetList{PetFilter: shop.PetFilter{Query: name}, Window: shop.Window{Limit: 100}})
			n = len(pets)
			return err
		})
	})
	return n, err
}

func (b *bench) bounded(what string, do func() error) error {
	b.Helper()
	begin := time.Now()
	err := do()
	if took, most := time.Since(begin), b.engine().patience+ample; took > most { // with something for a busy machine
		b.Errorf("%s took %v", what, took)
	}
	if err != nil && shop.AsError(err).Code != shop.Unavailable {
		b.Errorf("%s: %v, want unavailable", what, err)
	}
	return err
}

// works expects that the store reads and writes, at once and by itself.
func (b *bench) works(name string) {
	b.Helper()
	if err := b.write(name); err != nil {
		b.Errorf("writing %s: %v", name, err)
	}
	if n, err := b.read(name); err != nil || n != 1 {
		b.Errorf("reading %s: %d, %v", name, n, err)
	}
}

// settled returns the names that are there, each once, when no transaction of the store is open any more.
func settled(t *testing.T, straight *sql.DB) map[string]bool {
	t.Helper()
	awaitRow(t, straight, "the last transaction to end",
		"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL)")
	rows, err := straight.QueryContext(t.Context(), "SELECT name FROM pets")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		if found[name] {
			t.Errorf("%s is there twice", name)
		}
		found[name] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	checkCounts(t, straight, len(found))
	return found
}

// checkCounts expects that what was counted is what is there: a write that was done in part, or in part twice, shows here.
func checkCounts(t *testing.T, straight *sql.DB, pets int) {
	t.Helper()
	var counted int
	err := straight.QueryRowContext(t.Context(), "SELECT (SELECT sum(n) FROM inventory) + coalesce((SELECT sum(n) FROM inventory_changes), 0)").Scan(&counted)
	if err != nil || counted != pets {
		t.Errorf("there are %d animals, and %d were counted (%v)", pets, counted, err)
	}
}

// awaitRow asks a database until the answer is yes.
func awaitRow(t *testing.T, db *sql.DB, what, query string) {
	t.Helper()
	await(t, what, func() (yes bool, err error) {
		err = db.QueryRowContext(t.Context(), query).Scan(&yes)
		return yes, err
	})
}

func await(t *testing.T, what string, ask func() (yes bool, err error)) {
	t.Helper()
	for deadline := time.Now().Add(2 * ample); ; time.Sleep(5 * time.Millisecond) {
		yes, err := ask()
		if err != nil {
			t.Fatal(err)
		}
		if yes {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// check compares what writers were told with what is there.
func check(t *testing.T, found map[string]bool, outcomes map[string]error) {
	t.Helper()
	for name, err := range outcomes {
		if err == nil && !found[name] {
			t.Errorf("%s was written, and is not there", name)
		}
	}
	for name := range found {
		if _, known := outcomes[name]; !known {
			t.Errorf("%s is there, and nobody wrote it", name)
		}
	}
}
