package sqlstore_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/sqlstore"
)

// randomBytes returns n random bytes, which simulate data from a broken disk.
func randomBytes(n int) []byte {
	random := make([]byte, n)
	for i := range random {
		random[i] = byte(rand.IntN(256))
	}
	return random
}

// The error message names the damaged file, and the file stays unchanged so that it can still be repaired.
func TestDamagedFileIsRefusedUnchanged(t *testing.T) {
	t.Parallel()
	const page = 4096
	whole := filepath.Join(t.TempDir(), "whole.db")
	s, err := shoptest.OpenAt(t.Context(), whole, shop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		s.AddPet(t, fmt.Sprint("Rex ", i), int64(i), shop.Available)
	}
	if err := s.Store.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, damage := range map[string]struct {
		content []byte
		want    string
	}{
		"the header":          {join(randomBytes(100), content[100:]), "not a database"},
		"the schema":          {join(content[:100], randomBytes(page-100), content[page:]), "damaged"},
		"the page size":       {join(content[:16], []byte("\x00\x03"), content[18:]), "not a database"},
		"all but the header":  {join(content[:100], randomBytes(len(content)-100)), "damaged"},
		"second half missing": {content[:len(content)/(2*page)*page], "damaged"},
		"last page missing":   {content[:len(content)-page], "damaged"},
		"truncated page":      {content[:5000], "damaged"},
		"truncated header":    {content[:50], "damaged"},
		"everything":          {randomBytes(len(content)), "not a database"},
		"a short text":        {[]byte("hello\n"), "not a database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "test.db")
			if err := os.WriteFile(path, damage.content, 0o600); err != nil {
				t.Fatal(err)
			}
			store, err := sqlstore.Open(t.Context(), path, sqlstore.Options{Exclusive: true})
			if err == nil {
				store.Close()
				t.Fatal("the damaged file was opened")
			}
			if text := err.Error(); !strings.Contains(text, damage.want) || !strings.Contains(text, path) || strings.Contains(text, "\n") {
				t.Errorf("got %q, want one line with %q and the path", text, damage.want)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, damage.content) {
				t.Errorf("the file was changed from %d to %d bytes, %v", len(damage.content), len(after), err)
			}
		})
	}
}

func TestImpossiblePathIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere/a.db", filepath.Join(dir, "link.db")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"missing/a.db": "no such file or directory",
		"folder":       "directory",
		"link.db":      "link.db",
	} {
		store, err := sqlstore.Open(t.Context(), filepath.Join(dir, name), sqlstore.Options{Exclusive: true})
		if err == nil {
			store.Close()
			t.Errorf("%s was opened", name)
		} else if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want %q and the path", name, err, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("files: got %v, %v, want only folder and link.db", entries, err)
	}
}

// A store that a newer program has migrated is refused at start, but a store that is already open continues to
// work, so that nodes can be upgraded one after another.
func TestNewerSchemaIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]string{"file": filepath.Join(t.TempDir(), "test.db"), "server": pgtest.Shared(t).NewDatabase(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			running, err := sqlstore.Open(t.Context(), database, sqlstore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer running.Close()
			driver, statement := "sqlite", "PRAGMA user_version = 999"
			if name == "server" {
				driver, statement = "pgx", "UPDATE schema_version SET version = 999"
			}
			db, err := sql.Open(driver, database)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
			store, err := sqlstore.Open(t.Context(), database, sqlstore.Options{})
			if err == nil {
				store.Close()
				t.Fatal("the newer store was opened")
			}
			if !strings.Contains(err.Error(), "newer animalstore") || !strings.Contains(err.Error(), "999") {
				t.Errorf("got %v, want \"newer animalstore\" and the version", err)
			}
			if err := running.Write(t.Context(), func(tx shop.WriteTx) error { return tx.SetEnvironment(shop.Production) }); err != nil {
				t.Errorf("the store that was already open: %v", err)
			}
		})
	}
}

// If one table is damaged, only its own reads and writes fail. The error names the cause for the log.
func TestDamagedTableFailsOnlyItsOwnRequests(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	s, err := shoptest.OpenAt(t.Context(), path, shop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.AddPet(t, "Rex", 1, shop.Available)
	if err := s.Store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	var page, size int
	err = db.QueryRow("SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'pets'").Scan(&page, &size)
	db.Close()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteAt(randomBytes(size), int64((page-1)*size))
		file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if s, err = shoptest.OpenAt(t.Context(), path, shop.Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Store.Close()
	_, listed := s.ListPets(t.Context(), shop.PetList{PageRequest: shop.PageRequest{Limit: 10}})
	_, created := s.CreatePet(t.Context(), shop.NewPet{Name: "Tom", CategoryID: 1})
	for what, err := range map[string]error{"list": listed, "create": created} {
		if err == nil || shop.AsError(err).Code != shop.Unavailable || !strings.Contains(err.Error(), "malformed") {
			t.Errorf("%s animals: got %v, want %s because the database is malformed", what, err, shop.Unavailable)
		}
	}
	if categories, err := s.ListCategories(t.Context(), shop.PageRequest{Limit: 10}); err != nil || len(categories.Items) != 1 {
		t.Errorf("list categories: got %+v, %v, want one", categories, err)
	}
}
