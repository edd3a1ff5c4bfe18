package storeadmin

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"animalstore/internal/leaktest"
	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// engines has a function for each engine that returns the address of a new, empty database.
var engines = map[string]func(t *testing.T) string{
	"file":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "test.db") },
	"server": func(t *testing.T) string { return pgtest.Shared(t).NewDatabase(t) },
}

// filled returns the address of a new database with the rows that fill inserts. fill runs only once for each
// engine and name. All other databases are copies, because filling each of them would take longer than the
// tests.
func filled(t *testing.T, engine, name string, fill func(t *testing.T, database string)) string {
	t.Helper()
	if engine == "server" {
		return pgtest.Shared(t).NewDatabaseFrom(t, name, func(url string) error { fill(t, url); return nil })
	}
	filledFiles.Lock()
	defer filledFiles.Unlock()
	path := engines[engine](t)
	if content, found := filledFiles.contents[name]; found {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fill(t, path)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	filledFiles.contents[name] = content
	return path
}

var filledFiles = struct {
	sync.Mutex
	contents map[string][]byte
}{contents: map[string][]byte{}}

// applicationID is the SQLite application id that marks a file as a store.
const applicationID = 0x616e6d6c

// open opens a store with a retry budget that is sufficient on a busy machine.
func open(t *testing.T, path string, o sqlstore.Options) *sqlstore.Store {
	t.Helper()
	o.RetryBudget = cmp.Or(o.RetryBudget, time.Minute)
	store, err := sqlstore.Open(t.Context(), path, o)
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

// execFile executes SQL statements in a SQLite file, without the connection settings that a store uses.
func execFile(t *testing.T, path, statements string) {
	t.Helper()
	conn, err := driver.OpenConn(path, driver.OpenReadWrite|driver.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := sqlitex.ExecuteScript(conn, statements, nil); err != nil {
		t.Fatal(err)
	}
}

// with opens a store, publishes its events, runs fn in a write transaction and closes the store.
func with(t *testing.T, database string, fn func(shop.WriteTx) error) {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), database, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Publish(t.Context()), store.Write(t.Context(), fn), store.Close()); err != nil {
		t.Fatal(err)
	}
}

// execOn creates the schema if necessary and then executes statements directly in the database.
func execOn(t *testing.T, database string, statements ...string) {
	t.Helper()
	e, err := openEndpoint(t.Context(), database, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(execAll(t.Context(), e.Conn, statements...), e.close()); err != nil {
		t.Fatal(err)
	}
}
