package sqlstore

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"animalstore/internal/shop"
	"animalstore/internal/storetest"
)

func TestSQLiteIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) shop.Store { return open(t, newFile(t), Options{}) })
}

func TestPostgresIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) shop.Store { return open(t, newDatabase(t), Options{}) })
}

// A path may contain any character, even one with a special meaning in a URI.
func TestAnyPathIsOpened(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b#1?50%&b=c.db", "%41'ž🐈'.db"} {
		path := filepath.Join(t.TempDir(), name)
		addPets(t, open(t, path, Options{}), 1)
		if _, err := os.Stat(path + "-wal"); err != nil {
			t.Errorf("the database is somewhere else: %v", err)
		}
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
				if err := createStore(path); err != nil {
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

func TestClosedStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, database := range []string{newFile(t), newDatabase(t)} {
		store := open(t, database, Options{})
		must(t, store.Close())
		wantUnavailable(t, "a write", store.Write(t.Context(), func(shop.WriteTx) error { return nil }))
		wantUnavailable(t, "a read", store.Read(t.Context(), func(shop.ReadTx) error { return nil }))
	}
}

// A service does not start if the database is read-only.
func TestReadOnlyDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	c := newSQLiteConn(fileURI(newFile(t), "mode=ro"), time.Second)
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
	wantLost := func(what string) {
		t.Helper()
		wantUnavailable(t, what, store.Write(t.Context(), adding(what)))
		wantUnavailable(t, what, store.Read(t.Context(), listing))
	}
	write(t, store, adding("before"))
	must(t, os.Rename(path, path+".away"))
	wantLost("removed")
	must(t, os.Rename(path+".away", path))
	write(t, store, adding("back"))
	if got := names(t, store); got != "back before" {
		t.Errorf("found %q, want back before", got)
	}
	must(t, os.Remove(path))
	open(t, path, Options{}) // another process creates a new store at the same path
	wantLost("replaced")
}
