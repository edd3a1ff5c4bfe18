package sqlstore

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

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

// A file that is damaged, in use or not a store of this version is refused by name. It stays unchanged, so
// that it can still be repaired.
func TestOpenRefusesForeignFiles(t *testing.T) {
	t.Parallel()
	const page = 4096
	path := newFile(t)
	store := open(t, path, Options{})
	addPets(t, store, 200)
	must(t, store.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	noise := make([]byte, len(whole)) // data from a broken disk
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
		{"noise", "not a database", content(noise)},
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
		server: func() { exec(t, openDirect(t, server), "UPDATE schema_version SET version = 999") },
	} {
		running := open(t, database, Options{})
		migrate()
		wantRefused(t, database, "newer animalstore", "999")
		write(t, running, adding("Rex"))
	}
}

// If one table is damaged, only its own reads and writes fail. The error names the cause for the log.
func TestDamagedTableFailsOnlyItsOwnRequests(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	store := open(t, path, Options{})
	write(t, store, adding("Rex"))
	must(t, store.Close())
	c := newSQLiteConn(fileURI(path), time.Second)
	var page, size int64
	_, err := firstRow(t.Context(), c,
		"SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'pets'", &page, &size)
	c.close()
	must(t, err)
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	noise := make([]byte, size)
	rand.Read(noise)
	_, err = file.WriteAt(noise, (page-1)*size)
	must(t, errors.Join(err, file.Close()))
	store = open(t, path, Options{})
	for what, err := range map[string]error{
		"list":   store.Read(t.Context(), listing),
		"create": store.Write(t.Context(), adding("Tom")),
	} {
		wantUnavailable(t, what, err)
		if err != nil && !strings.Contains(err.Error(), "malformed") {
			t.Errorf("%s: got %v, want that the database is malformed", what, err)
		}
	}
	read(t, store, func(tx shop.ReadTx) error {
		categories, err := tx.Categories(shop.PageRequest{Limit: 10})
		if len(categories) != 1 {
			t.Errorf("list categories: got %+v, want one", categories)
		}
		return err
	})
}
