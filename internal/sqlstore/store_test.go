package sqlstore

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/storetest"
)

func TestSQLiteIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) shop.Store { return open(t, newFile(t), Options{Now: now}) })
}

func TestPostgresIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) shop.Store { return open(t, newDatabase(t), Options{Now: now}) })
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
		wantUnavailable(t, "a write", store.Write(t.Context(), shop.Writing{}, func(shop.WriteTx) error { return nil }))
		wantUnavailable(t, "a read", store.Read(t.Context(), shop.Reading{}, func(shop.ReadTx) error { return nil }))
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
		wantUnavailable(t, what, store.Write(t.Context(), shop.Writing{}, adding(what)))
		wantUnavailable(t, what, store.Read(t.Context(), shop.Reading{}, listing))
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

// wantRefused checks that a database cannot be opened and that the error is one line with all of these words.
func wantRefused(t *testing.T, database string, words ...string) {
	t.Helper()
	store, err := Open(t.Context(), database, Options{Exclusive: true})
	if err == nil {
		store.Close()
		t.Fatalf("%s was opened", database)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %q, want one line with %q", err, word)
		}
	}
}

// A file that is damaged, in use or not a store of this version is refused with an error that names the file. The
// file stays unchanged, so that it can still be repaired.
func TestOpenRefusesForeignFiles(t *testing.T) {
	t.Parallel()
	const page = 4096
	path := newFile(t)
	store := open(t, path, Options{})
	addPets(t, store, 200)
	must(t, store.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	noise := make([]byte, len(whole)) // random bytes, as from a broken disk
	rand.Read(noise)
	content := func(parts ...[]byte) func(*testing.T, string) {
		return func(t *testing.T, path string) { must(t, os.WriteFile(path, bytes.Join(parts, nil), 0o600)) }
	}
	script := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) { execFile(t, path, text) }
	}
	for _, c := range []struct {
		name, want string
		make       func(t *testing.T, path string)
	}{
		{"a text", "not a database", content([]byte("hello\n"))},
		{"a broken header", "not a database", content(noise[:100], whole[100:])},
		{"a broken page size", "not a database", content(whole[:16], []byte("\x00\x03"), whole[18:])},
		{"a broken schema", "damaged", content(whole[:100], noise[100:page], whole[page:])},
		{"all but the last page", "damaged", content(whole[:len(whole)-page])},
		{"a truncated page", "damaged", content(whole[:5000])},
		{"a truncated header", "damaged", content(whole[:50])},
		{"another program's", "another program", script("CREATE TABLE songs (id INTEGER)")},
		{"another program's, by its mark", "another program", script("PRAGMA application_id = 7")},
		{"a newer one", "newer animalstore", func(t *testing.T, path string) {
			must(t, createStore(path))
			execFile(t, path, "PRAGMA user_version = 999")
		}},
		{"one that is served", "already in use by another animalstore", func(t *testing.T, path string) {
			open(t, path, Options{Exclusive: true})
		}},
		{"one that is served under another name", "already in use by another animalstore", func(t *testing.T, path string) {
			open(t, path+".real", Options{Exclusive: true})
			must(t, os.Symlink(path+".real", path))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "test.db")
			c.make(t, path)
			before, err := os.ReadFile(path)
			must(t, err)
			wantRefused(t, path, c.want, path)
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file was changed from %d to %d bytes, %v", len(before), len(after), err)
			}
		})
	}
}

func TestImpossiblePathIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	must(t, os.Symlink("nowhere/a.db", filepath.Join(dir, "link.db")))
	for name, want := range map[string]string{
		"missing/a.db": "no such file or directory",
		"folder":       "directory",
		"link.db":      "link.db",
	} {
		wantRefused(t, filepath.Join(dir, name), want, name)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("files: got %v, %v, want only folder and link.db", entries, err)
	}
}

// A store that a newer program has migrated is refused at start, but a store that is already open continues to
// work, so that nodes can be upgraded one after another.
func TestNewerSchemaIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	file, server := newFile(t), newDatabase(t)
	for database, migrate := range map[string]func(){
		file:   func() { execFile(t, file, "PRAGMA user_version = 999") },
		server: func() { pgtest.Connect(t, server).Do("UPDATE schema_version SET version = 999") },
	} {
		running := open(t, database, Options{})
		migrate()
		wantRefused(t, database, "newer animalstore", "999")
		write(t, running, adding("Rex"))
	}
}

// If one table is damaged, only the reads and writes that use it fail. Their errors contain the cause, so that it is
// logged.
func TestDamagedTableFailsOnlyItsOwnRequests(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	store := open(t, path, Options{})
	write(t, store, adding("Rex"))
	must(t, store.Close())
	execFile(t, path, `PRAGMA writable_schema = ON;
		UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'pets_sold') WHERE name = 'pets'`)
	store = open(t, path, Options{})
	for what, err := range map[string]error{
		"list":   store.Read(t.Context(), shop.Reading{}, listing),
		"create": store.Write(t.Context(), shop.Writing{}, adding("Tom")),
	} {
		wantUnavailable(t, what, err)
		if err != nil && !strings.Contains(err.Error(), "malformed") {
			t.Errorf("%s: got %v, want that the database is malformed", what, err)
		}
	}
	read(t, store, func(tx shop.ReadTx) error { _, err := tx.Categories(shop.PageRequest{Limit: 10}); return err })
}

// Every write that changes pets or orders changes the version of the catalogue before the write returns, even if it
// fails. No other write changes the version.
func TestEveryCatalogChangeBumpsTheVersion(t *testing.T) {
	t.Parallel()
	store, onPurpose, now := openNew(t), errors.New("on purpose"), time.Now()
	rex, luna := shop.Pet{ID: 1, Name: "Rex", CategoryID: 1}, shop.Pet{ID: 1, Name: "Luna", CategoryID: 1}
	placed := shop.Order{ID: 1, PetID: 7, Status: shop.Placed, CreatedAt: now, UpdatedAt: now, HoldExpiresAt: now}
	cancelled := placed
	cancelled.Status, cancelled.HoldExpiresAt = shop.Cancelled, time.Time{}
	for _, c := range []struct {
		name    string
		fn      func(shop.WriteTx) error
		changes bool
	}{
		{"added", adding("Rex"), true},
		{"renamed", func(tx shop.WriteTx) error { return tx.UpdatePets(shop.PetUpdate{Before: rex, After: luna}) }, true},
		{"removed", func(tx shop.WriteTx) error { return tx.DeletePet(luna) }, true},
		{"an event", telling("pets/1"), false},
		{"a failure", func(tx shop.WriteTx) error { return errors.Join(adding("Max")(tx), onPurpose) }, true},
		{"a setting", func(tx shop.WriteTx) error { return tx.SetEnvironment(shop.Staging) }, false},
		{"placed", func(tx shop.WriteTx) error { _, err := tx.InsertOrder(placed); return err }, true},
		{"cancelled", func(tx shop.WriteTx) error { return tx.UpdateOrder(placed, cancelled) }, true},
	} {
		before := readState(t, store)
		err := store.Write(t.Context(), shop.Writing{}, c.fn)
		after, now := store.CurrentVersion(t.Context(), before.Version)
		if changed := after != before.Version; changed != c.changes {
			t.Errorf("%s: from %+v to %+v, want a change: %v", c.name, before, after, c.changes)
		}
		if before.Version == (shop.CatalogVersion{}) || now.Before(before.Time) || (err != nil) != (c.name == "a failure") {
			t.Errorf("%s: %+v at %v, %v", c.name, before, now, err)
		}
	}
}

// When a wake-up arrives, the version has been incremented and the written data is readable, even if the
// write has not returned yet.
func TestVersionIsBumpedBeforeTheWakeup(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	notices := store.Wakeups()
	for n := range 100 {
		before := readState(t, store).Version
		var write sync.WaitGroup
		write.Go(func() {
			if err := store.Write(t.Context(), shop.Writing{}, adding("Rex")); err != nil {
				t.Error(err)
			}
		})
		<-notices
		after, _ := store.CurrentVersion(t.Context(), before)
		_, pets, _ := totals(t, store)
		write.Wait()
		if after == before || pets != int64(n+1) {
			t.Fatalf("change %d: the version is still %+v, and there are %d animals", n, after, pets)
		}
	}
}

// The catalogue has no version if other processes may change the file.
func TestSharedFileHasNoVersion(t *testing.T) {
	t.Parallel()
	store := open(t, newFile(t), Options{})
	state := readState(t, store)
	if now, _ := store.CurrentVersion(t.Context(), state.Version); state.Version != (shop.CatalogVersion{}) || now != state.Version {
		t.Errorf("got %+v and %+v, want no version", state, now)
	}
}

// If a change is committed during a read, the version that the read returns is outdated, even if the read did not see
// the change.
func TestVersionIsNotNewerThanTheSnapshot(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	var state shop.CatalogState
	err := store.Read(t.Context(), shop.Reading{State: &state, Version: true}, func(tx shop.ReadTx) error {
		return errors.Join(listing(tx), store.Write(t.Context(), shop.Writing{}, adding("Rex")))
	})
	must(t, err)
	if now, _ := store.CurrentVersion(t.Context(), state.Version); now == state.Version {
		t.Errorf("the version is still %+v", now)
	}
}

// readState reads the catalogue with one query and returns its state.
func readState(t *testing.T, store *Store) (state shop.CatalogState) {
	t.Helper()
	must(t, store.Read(t.Context(), shop.Reading{SingleQuery: true, State: &state, Version: true}, listing))
	return state
}
