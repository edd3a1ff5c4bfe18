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

// applicationID marks a SQLite file as a store.
const applicationID = 0x616e6d6c

// open opens a store with a retry budget that suffices on a busy machine.
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

// execFile executes the statements of a text in a SQLite file, without the settings of a store.
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
