package shoptest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/sqlstore"
	"animalstore/internal/storetest"
)

// emptyFile returns the content of the SQLite file of an empty store.
var emptyFile = storetest.EmptyFile(createStore)

func createStore(database string) error {
	store, err := sqlstore.Open(context.Background(), database, sqlstore.Options{})
	if err != nil {
		return err
	}
	return store.Close()
}

// provideFile creates the file of an empty store, unless database is a URL or the file exists.
func provideFile(database string) error {
	if sqlstore.IsURL(database) {
		return nil
	}
	if _, err := os.Stat(database); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	content, err := emptyFile()
	if err != nil {
		return err
	}
	return os.WriteFile(database, content, 0o600)
}

// NewPostgresDatabase returns the URL of a new database on the shared server. The database already has the tables of
// an empty store, because copying them is quicker than creating them.
func NewPostgresDatabase(t testing.TB) string {
	t.Helper()
	return pgtest.Shared(t).NewDatabaseFrom(t, "empty_store", createStore)
}
