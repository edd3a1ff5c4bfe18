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

// shortBudget is the retry budget for stores that a test expects to give up.
const shortBudget = time.Second

// faultHarness has a store that reaches its database through a proxy. It also has a direct connection, which
// shows what the database really contains.
type faultHarness struct {
	*testing.T
	store  *Store
	proxy  *pgtest.Proxy
	direct *sql.DB
}

func newFaultHarness(t *testing.T) *faultHarness {
	t.Helper()
	database := newDatabase(t)
	proxy := pgtest.StartProxy(t, database)
	return &faultHarness{T: t, store: open(t, proxy.URL(), Options{}), proxy: proxy, direct: openDirect(t, database)}
}

func (h *faultHarness) engine() *postgresEngine { return h.store.engine.(*postgresEngine) }

func openDirect(t *testing.T, database string) *sql.DB {
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

// write adds an animal with the given name. If the write fails, the error must be unavailable.
func (h *faultHarness) write(name string) error {
	h.Helper()
	return h.allowUnavailable("writing "+name, func() error { return h.store.Write(context.Background(), adding(name)) })
}

// startWrite runs write in the background. It returns a function that waits for the outcome.
func (h *faultHarness) startWrite(name string) (outcome func() error) {
	h.Helper()
	var err error
	var running sync.WaitGroup
	running.Go(func() { err = h.write(name) })
	h.Cleanup(running.Wait)
	return func() error {
		running.Wait()
		return err
	}
}

// read returns the number of animals with the given name that the store finds.
func (h *faultHarness) read(name string) (n int, err error) {
	h.Helper()
	err = h.allowUnavailable("reading "+name, func() error {
		return h.store.Read(context.Background(), func(tx shop.ReadTx) error {
			pets, err := tx.Pets(shop.PetList{PetFilter: shop.PetFilter{Query: name}, PageRequest: shop.PageRequest{Limit: 100}})
			n = len(pets)
			return err
		})
	})
	return n, err
}

func (h *faultHarness) allowUnavailable(what string, do func() error) error {
	h.Helper()
	err := do()
	if err != nil && shop.AsError(err).Code != shop.Unavailable {
		h.Errorf("%s: %v, want unavailable", what, err)
	}
	return err
}

// works checks that the store can write an animal and read it back.
func (h *faultHarness) works(name string) {
	h.Helper()
	if err := h.write(name); err != nil {
		h.Errorf("writing %s: %v", name, err)
	}
	if n, err := h.read(name); err != nil || n != 1 {
		h.Errorf("reading %s: %d, %v", name, n, err)
	}
}

// namesAfterLastTransaction waits until the store has no open transaction and returns the names of all
// animals. It checks that each name is stored only once.
func namesAfterLastTransaction(t *testing.T, direct *sql.DB) map[string]bool {
	t.Helper()
	awaitRow(t, direct, "the end of the last transaction",
		"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL)")
	rows, err := direct.QueryContext(t.Context(), "SELECT name FROM pets")
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
			t.Errorf("%s is stored twice", name)
		}
		found[name] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	checkInventory(t, direct, len(found))
	return found
}

// checkInventory checks that the inventory matches the number of animals. The two numbers differ if a write
// was applied partially, or partially twice.
func checkInventory(t *testing.T, direct *sql.DB, pets int) {
	t.Helper()
	var counted int
	err := direct.QueryRowContext(t.Context(), "SELECT (SELECT sum(n) FROM inventory) + coalesce((SELECT sum(n) FROM inventory_changes), 0)").Scan(&counted)
	if err != nil || counted != pets {
		t.Errorf("there are %d animals, and the inventory has %d (%v)", pets, counted, err)
	}
}

// awaitRow polls the database until a query returns true.
func awaitRow(t *testing.T, db *sql.DB, what, query string) {
	t.Helper()
	await(t, what, func() (met bool, err error) {
		err = db.QueryRowContext(t.Context(), query).Scan(&met)
		return met, err
	})
}

// await polls until the condition is true. It fails the test if that takes too long.
func await(t *testing.T, what string, condition func() (bool, error)) {
	t.Helper()
	for deadline := time.Now().Add(2 * ample); ; time.Sleep(5 * time.Millisecond) {
		met, err := condition()
		if err != nil {
			t.Fatal(err)
		}
		if met {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// checkOutcomes checks that every successful write is stored and that every stored animal was written by the
// test.
func checkOutcomes(t *testing.T, found map[string]bool, outcomes map[string]error) {
	t.Helper()
	for name, err := range outcomes {
		if err == nil && !found[name] {
			t.Errorf("%s was written, and is missing", name)
		}
	}
	for name := range found {
		if _, known := outcomes[name]; !known {
			t.Errorf("%s is stored, and was never written", name)
		}
	}
}
