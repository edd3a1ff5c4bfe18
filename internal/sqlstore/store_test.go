package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"animalstore/internal/leaktest"
	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/storetest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		if err := runWriter(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	leaktest.Main(m)
}

// ample is the retry budget for operations that must succeed. It is longer than a client would wait, because
// a busy machine may need more time.
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

func openNew(t *testing.T) *Store { return open(t, newFile(t), Options{Exclusive: true}) }

// newFile returns the path of a new file with an empty store. It is a copy, because creating the tables again
// takes longer.
func newFile(t *testing.T) string {
	t.Helper()
	content, err := emptyFile()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "test.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var emptyFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sqlstore-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	if err := createStore(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// newDatabase is like newFile, but on the shared PostgreSQL server.
func newDatabase(t *testing.T) string {
	t.Helper()
	return pgtest.Shared(t).NewDatabaseFrom(t, "empty_store", createStore)
}

func createStore(database string) error {
	store, err := Open(context.Background(), database, Options{})
	if err != nil {
		return err
	}
	return store.Close()
}

func sqliteOf(store *Store) *sqliteEngine { return store.engine.(*sqliteEngine) }

func TestSQLiteIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) shop.Store { return open(t, newFile(t), Options{}) })
}

// addPets adds n pets in four categories. Each status is used for a third of the pets.
func addPets(t *testing.T, store *Store, n int) {
	t.Helper()
	err := store.Write(t.Context(), func(tx shop.WriteTx) error {
		for i := range n {
			if _, err := tx.EnsureCategories(int64(i % 4)); err != nil {
				return err
			}
			pet := shop.NewPet{Name: fmt.Sprintf("pet %d", i), CategoryID: int64(i % 4), Status: shop.Statuses()[i%3]}
			if _, err := tx.InsertPets(pet); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A path may contain any character, even one with a special meaning in a URI.
func TestAnyPathIsOpened(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b#1?50%&b=c.db", "%41'ž🐈'.db"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			addPets(t, open(t, filepath.Join(dir, name), Options{}), 1)
			if _, err := os.Stat(filepath.Join(dir, name+"-wal")); err != nil {
				t.Errorf("the database is somewhere else: %v", err)
			}
		})
	}
}

func TestOpenRefusesForeignFiles(t *testing.T) {
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
		{"one that is served", "already in use by another animalstore", func(t *testing.T, path string) { open(t, path, Options{Exclusive: true}) }},
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
	c := newSQLiteConn(fileURI(path), time.Second)
	defer c.close()
	if err := c.script(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// Any number of processes may create the same store at the same time.
func TestProcessesOpenANewFileAtOnce(t *testing.T) {
	t.Parallel()
	for range 2 {
		path := filepath.Join(t.TempDir(), "test.db")
		var wg sync.WaitGroup
		for range 6 {
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

// SQLite versions before 3.51.3 have a bug in WAL mode that can corrupt a database.
func TestSQLiteIsNewEnoughForWAL(t *testing.T) {
	if sqlite.VersionNumber < 3_051_003 {
		t.Errorf("the linked SQLite is %d", sqlite.VersionNumber)
	}
}

// After a read is cancelled during a query, the next read can use the same connection.
func TestCancelledReadLeavesACleanConnection(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addPets(t, store, 2000)
	for i := range 40 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for range i * 10 {
				_ = strings.Repeat("x", 1000) // delays the cancellation a little more in each round
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

func TestClosedStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, database := range []string{newFile(t), newDatabase(t)} {
		store, err := Open(t.Context(), database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		for what, err := range map[string]error{
			"write": store.Write(t.Context(), func(shop.WriteTx) error { return nil }),
			"read":  store.Read(t.Context(), func(shop.ReadTx) error { return nil }),
		} {
			if err == nil || shop.AsError(err).Code != shop.Unavailable {
				t.Errorf("a %s on a closed store: %v, want unavailable", what, err)
			}
		}
	}
}

// A service does not start if the database is read-only.
func TestReadOnlyDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	open(t, path, Options{}).Close()
	c := newSQLiteConn(fileURI(path, "mode=ro"), time.Second)
	defer c.close()
	if err := checkWritable(t.Context(), c); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("got %v", err)
	}
}

// A store becomes unavailable if its file is removed or replaced. Writes to a removed file would be lost, and
// reads from its replacement would be wrong.
func TestReplacedFileIsUnavailable(t *testing.T) {
	t.Parallel()
	path := newFile(t)
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
	open(t, path, Options{}) // another process creates a new store at the same path
	want("replaced", true)
}
