package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/leaktest"
	"animalstore/internal/shop"
	"animalstore/internal/storetest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// ample is how long what must work may take: on a busy machine much longer than a caller should wait.
const ample = time.Minute

func open(t *testing.T, path string, o Options) *Store {
	t.Helper()
	o.RetryBudget = cmp.Or(o.RetryBudget, ample)
	store, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func openNew(t *testing.T) *Store {
	return open(t, filepath.Join(t.TempDir(), "test.db"), Options{Exclusive: true})
}

func sqliteOf(store *Store) *sqliteEngine { return store.engine.(*sqliteEngine) }

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) shop.Store { return openNew(t) })
}

// addPets adds n animals, a third of each status, over four categories.
func addPets(t *testing.T, store *Store, n int) {
	t.Helper()
	err := store.Write(t.Context(), func(tx shop.WriteTx) error {
		for i := range n {
			if _, err := tx.EnsureCategory(int64(i % 4)); err != nil {
				return err
			}
			pet := shop.NewPet{Name: fmt.Sprintf("pet %d", i), CategoryID: int64(i % 4), Status: shop.Statuses()[i%3]}
			if _, err := tx.InsertPet(pet); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Any character may stand in a path, also those that mean something in a URI.
func TestOddPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b.db", "what?.db", "50%.db", "%41.db", "#1.db", "ž🐈.db", "a&b=c.db", "'quoted'.db"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			addPets(t, open(t, filepath.Join(dir, name), Options{}), 1)
			if _, err := os.Stat(filepath.Join(dir, name+"-wal")); err != nil {
				t.Errorf("the database is somewhere else: %v", err)
			}
		})
	}
}

func TestSettingsOfEveryConnection(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	check := func(c *conn) {
		t.Helper()
		for pragma, want := range map[string]any{"journal_mode": "wal", "synchronous": int64(2), "foreign_keys": int64(1), "busy_timeout": int64(5000)} {
			rows, err := c.query(t.Context(), "PRAGMA "+pragma, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !rows.Next() || rows.(*sqliteRows).value(0) != want {
				t.Errorf("%s is %v (%v), want %v", pragma, rows.(*sqliteRows).value(0), rows.Err(), want)
			}
			rows.Close()
		}
	}
	addPets(t, store, 1)
	check(sqliteOf(store).writer.conn)
	reader := <-sqliteOf(store).readers
	defer func() { sqliteOf(store).readers <- reader }()
	check(reader)
}

func TestOpenRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		make       func(t *testing.T, path string)
	}{
		{"a text", "not a database", func(t *testing.T, path string) {
			text := bytes.Repeat([]byte("Dear diary, today nothing happened.\n"), 100)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"another program's", "another program", func(t *testing.T, path string) { execFile(t, path, "CREATE TABLE songs (id INTEGER)") }},
		{"another program's, by its mark", "another program", func(t *testing.T, path string) { execFile(t, path, "PRAGMA application_id = 7") }},
		{"a newer one", "newer animalstore", func(t *testing.T, path string) {
			open(t, path, Options{}).Close()
			execFile(t, path, "PRAGMA user_version = 999")
		}},
		{"one that is served", "another animalstore serves it", func(t *testing.T, path string) { open(t, path, Options{Exclusive: true}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "test.db")
			c.make(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			store, err := Open(t.Context(), path, Options{Exclusive: true})
			if err == nil {
				store.Close()
				t.Fatal("it was opened")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line that says %q", err, c.want)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file has changed (%v)", err)
			}
		})
	}
}

func execFile(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// Any number of processes may find a new file at once.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	for range 3 {
		path := filepath.Join(t.TempDir(), "test.db")
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				store, err := Open(context.Background(), path, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

func TestVersionLess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"3.51.2", "3.51.3", true}, {"3.51.3", "3.51.3", false}, {"3.51.10", "3.51.3", false}, {"3.9.9", "3.51.3", true},
		{"4.0.0", "3.51.3", false}, {"3.51", "3.51.3", true}, {"3.53.1", "3.51.3", false},
	} {
		if got := versionLess(c.a, c.b); got != c.want {
			t.Errorf("versionLess(%s, %s) is %v", c.a, c.b, got)
		}
	}
}

// A reader whose caller goes away in the middle of a query leaves a connection that the next one can use.
func TestCancelledReads(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addPets(t, store, 2000)
	for i := range 40 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for range i * 10 {
				_ = strings.Repeat("x", 1000) // a little later each time
			}
			cancel()
		}()
		store.Read(ctx, func(tx shop.ReadTx) error {
			_, err := tx.Pets(shop.PetList{PetFilter: shop.PetFilter{Query: "nowhere"}, PageRequest: shop.PageRequest{Limit: 10}})
			return err
		})
		err := store.Read(t.Context(), func(tx shop.ReadTx) error {
			pets, err := tx.Pets(shop.PetList{PageRequest: shop.PageRequest{Limit: 10}})
			if err == nil && len(pets) != 10 {
				t.Errorf("found %d animals, want 10", len(pets))
			}
			return err
		})
		if err != nil {
			t.Fatalf("after a cancelled read: %v", err)
		}
		cancel()
	}
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	store.Close()
	err = store.Write(t.Context(), func(shop.WriteTx) error { return nil })
	if code := shop.AsError(err).Code; err == nil || code != shop.Unavailable {
		t.Errorf("a write on a closed store: %v, want unavailable", err)
	}
	err = store.Read(t.Context(), func(shop.ReadTx) error { return nil })
	if code := shop.AsError(err).Code; err == nil || code != shop.Unavailable {
		t.Errorf("a read on a closed store: %v, want unavailable", err)
	}
}

// A database that can be read but not written does not start as if all were well.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	open(t, path, Options{}).Close()
	db, err := sql.Open("sqlite", dsn(path)+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := checkWritable(t.Context(), db); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("got %v", err)
	}
}

// What is written into a file that nobody can open any more would be lost; what is read from its successor would be wrong.
func TestFileThatWasRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	store := open(t, path, Options{})
	addPets(t, store, 1)
	want := func(what string, unavailable bool) {
		t.Helper()
		for _, err := range []error{
			store.Write(t.Context(), adding(what)),
			store.Read(t.Context(), func(tx shop.ReadTx) error { _, err := tx.HasPets(); return err }),
		} {
			if (err != nil) != unavailable || err != nil && shop.AsError(err).Code != shop.Unavailable {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	want("before", false)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	want("removed", true)
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	want("put back", false)
	if got := names(t, store); got != "put back before pet 0" {
		t.Errorf("found %q", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	open(t, path, Options{}) // somebody makes a new one in its place
	want("replaced", true)
}
