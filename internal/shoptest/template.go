package shoptest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"animalstore/internal/sqlstore"
)

// emptyStore returns the SQLite file of an empty store. Creating the schema takes longer than most tests, so
// it is done only once.
var emptyStore = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "animalstore-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	store, err := sqlstore.Open(context.Background(), path, sqlstore.Options{})
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// provideFile creates the file of an empty store, unless database is a URL or the file exists.
func provideFile(database string) error {
	if sqlstore.IsURL(database) {
		return nil
	}
	if _, err := os.Stat(database); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := emptyStore()
	if err != nil {
		return err
	}
	return os.WriteFile(database, text, 0o600)
}
