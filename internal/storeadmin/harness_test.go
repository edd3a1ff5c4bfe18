package storeadmin

import (
	"cmp"
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"animalstore/internal/leaktest"
	"animalstore/internal/sqlstore"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

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
