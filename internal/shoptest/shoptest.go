// Package shoptest opens a complete shop for tests: a real store that can be made to fail, a service, and a clock
// that tests can move.
package shoptest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// AdminKey is the configured API key in every shop that this package opens.
const AdminKey = "configured-key-of-the-tests"

// Options change the shop that Open returns. With the zero value, Open returns an empty shop on SQLite in the
// production environment.
type Options struct {
	shop.Options
	Postgres bool   // use PostgreSQL instead of SQLite
	Database string // the path (SQLite) or the URL (PostgreSQL) of the database; "" means a new database
}

// Shop is a service on a real store.
type Shop struct {
	*shop.Service
	Store    *Store
	Clock    *Clock
	Database string // the path (SQLite) or the URL (PostgreSQL) of the store's database
}

// Open opens a shop with a database of its own. The shop is closed when the test ends.
func Open(t testing.TB, o Options) *Shop {
	t.Helper()
	database := o.Database
	switch {
	case database != "":
	case o.Postgres:
		database = NewPostgresDatabase(t)
	default:
		database = filepath.Join(TempDir(t), "test.db")
	}
	s, err := OpenAt(t.Context(), database, o.Options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Store.Close() })
	return s
}

// OpenAt opens a shop on the given database. It needs no testing.TB, so that examples can use it. The caller must
// close the store.
func OpenAt(ctx context.Context, database string, o shop.Options) (*Shop, error) {
	s := &Shop{Clock: &Clock{}, Database: database}
	if err := provideFile(database); err != nil {
		return nil, err
	}
	// A hundred concurrent clients on a busy machine take longer than the default RetryBudget allows.
	store, err := sqlstore.Open(ctx, database, sqlstore.Options{Exclusive: true, Now: s.Clock.Now, RetryBudget: time.Minute})
	if err != nil {
		return nil, err
	}
	s.Store = &Store{Store: store, SQL: store}
	if s.Service, err = s.Node(ctx, o); err != nil {
		store.Close()
		return nil, err
	}
	return s, nil
}

// Node opens another service on the same store, as a second node would.
func (s *Shop) Node(ctx context.Context, o shop.Options) (*shop.Service, error) {
	if o.Environment == "" {
		o.Environment = shop.Production
	}
	if o.ConfiguredKey == "" {
		o.ConfiguredKey = AdminKey
	}
	if o.Now == nil {
		o.Now = s.Clock.Now
	}
	return shop.Open(ctx, s.Store, o)
}

// Serve starts an HTTP server for the handler. The server is closed when the test ends.
func Serve(t testing.TB, handler http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(handler)
	server.Config.DisableGeneralOptionsHandler = true // the real program sets this option, too
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// Key creates an API key with the given scopes.
func (s *Shop) Key(t testing.TB, scopes ...shop.Scope) shop.IssuedKey {
	t.Helper()
	key, err := s.CreateKey(t.Context(), shop.Caller{}, shop.NewKey{Name: "Žofie <at the till>", Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// AddPet creates an animal.
func (s *Shop) AddPet(t testing.TB, name string, category int64, status shop.Status) shop.Pet {
	t.Helper()
	pet, err := s.CreatePet(t.Context(), shop.Caller{}, shop.NewPet{Name: name, CategoryID: category, Status: status})
	if err != nil {
		t.Fatal(err)
	}
	return pet
}
