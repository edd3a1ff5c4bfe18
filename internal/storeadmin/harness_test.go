package storeadmin

import (
	"errors"
	"fmt"
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
	"animalstore/internal/shoptest"
	"animalstore/internal/sqlstore"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// noError ends the test if a call failed.
func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns a function that takes t and returns the result of a call. If the call failed, that function ends the
// test.
func must[T any](result T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		noError(t, err)
		return result
	}
}

// engines maps each engine to a function that returns the address of a new, empty database.
var engines = map[string]func(t *testing.T) string{
	"file":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "test.db") },
	"server": func(t *testing.T) string { return pgtest.Shared(t).NewDatabase(t) },
}

// filled returns the address of a new database with the rows that fill inserts. fill runs only once for each engine and
// name. All other databases are copies, because filling each of them would take longer than the tests themselves.
func filled(t *testing.T, engine, name string, fill func(t *testing.T, database string)) string {
	t.Helper()
	if engine == "server" {
		return pgtest.Shared(t).NewDatabaseFrom(t, name, func(url string) error { fill(t, url); return nil })
	}
	content, _ := filledFiles.LoadOrStore(name, sync.OnceValue(func() []byte {
		original := engines[engine](t)
		fill(t, original)
		return must(os.ReadFile(original))(t)
	}))
	path := engines[engine](t)
	noError(t, os.WriteFile(path, content.(func() []byte)(), 0o600))
	return path
}

var filledFiles sync.Map // maps each name to a function that returns the content of the filled file

// open opens a store with a retry budget that is sufficient on a busy machine.
func open(t *testing.T, path string, o sqlstore.Options) *sqlstore.Store {
	t.Helper()
	o.RetryBudget = time.Minute
	store := must(sqlstore.Open(t.Context(), path, o))(t)
	t.Cleanup(func() { noError(t, store.Close()) })
	return store
}

// oldStore creates a SQLite file with the first version of the schema.
func oldStore(t *testing.T) string {
	t.Helper()
	const applicationID = 0x616e6d6c // marks a file as a store
	path, steps := engines["file"](t), must(sqlstore.Migrations(sqlstore.SQLite))(t)
	execFile(t, path, fmt.Sprintf("%s; PRAGMA application_id = %d; PRAGMA user_version = 1", steps[0], applicationID))
	return path
}

// execFile executes SQL statements in a SQLite file, without the connection settings that a store uses.
func execFile(t *testing.T, path, statements string) {
	t.Helper()
	conn := must(driver.OpenConn(path, driver.OpenReadWrite|driver.OpenCreate))(t)
	defer conn.Close()
	noError(t, sqlitex.ExecuteScript(conn, statements, nil))
}

// with opens a store, publishes its events, runs fn in a write transaction and closes the store.
func with(t *testing.T, database string, fn func(shop.WriteTx) error) {
	t.Helper()
	store := must(sqlstore.Open(t.Context(), database, sqlstore.Options{}))(t)
	noError(t, errors.Join(store.Publish(t.Context()), store.Write(t.Context(), shop.Writing{}, fn), store.Close()))
}

// execOn creates the schema if necessary and then executes statements directly in the database.
func execOn(t *testing.T, database string, statements ...string) {
	t.Helper()
	e := must(openEndpoint(t.Context(), database, sqlstore.Options{}))(t)
	noError(t, errors.Join(execAll(t.Context(), e.Conn, statements...), e.close()))
}

// openShop opens the shop in a database. The caller must close the shop's store.
func openShop(t *testing.T, database string) *shoptest.Shop {
	t.Helper()
	return must(shoptest.OpenAt(t.Context(), database, shop.Options{}))(t)
}

// findings runs Check and returns its findings.
func findings(t *testing.T, database string) []string {
	t.Helper()
	found := []string{}
	n, err := Check(t.Context(), database, func(finding string) { found = append(found, finding) })
	if err != nil || n.All != len(found) {
		t.Errorf("%+v, %v: %q", n, err, found)
	}
	return found
}

func expectSound(t *testing.T, database string) {
	t.Helper()
	if found := findings(t, database); len(found) > 0 {
		t.Errorf("found %q in a sound store", found)
	}
}
