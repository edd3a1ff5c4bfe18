package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/leaktest"
	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/sqlite"
	"animalstore/internal/storetest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		if err := runWriter(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	leaktest.Main(m)
}

// writerEnv is the environment variable that makes the test program run runWriter. Its value is the path of the store
// to write to.
const writerEnv = "SQLSTORE_TEST_WRITER"

// runWriter writes to a store ten times. It acknowledges each write on standard output, as a service
// acknowledges a write with its response.
func runWriter(path string) error {
	store, err := Open(context.Background(), path, Options{Exclusive: true})
	if err != nil {
		return err
	}
	for i := range 10 {
		if err := store.Write(context.Background(), shop.Writing{}, adding(fmt.Sprint(i))); err != nil {
			return err
		}
		fmt.Println(i)
	}
	return store.Close()
}

// ample is the retry budget for operations that must succeed. It is longer than a client would wait, because
// a busy machine may need more time.
const ample = time.Minute

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string, o Options) *Store {
	t.Helper()
	o.RetryBudget = cmp.Or(o.RetryBudget, ample)
	store, err := Open(t.Context(), path, o)
	must(t, err)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func openNew(t *testing.T) *Store { return open(t, newFile(t), Options{Exclusive: true}) }

// newFile returns the path of a new file with an empty store. The file is a copy of a template, because creating the
// tables for every test would take longer.
func newFile(t *testing.T) string {
	t.Helper()
	content, err := emptyFile()
	must(t, err)
	path := filepath.Join(t.TempDir(), "test.db")
	must(t, os.WriteFile(path, content, 0o600))
	return path
}

var emptyFile = storetest.EmptyFile(createStore)

// newDatabase is like newFile, but returns the URL of a new database on the shared PostgreSQL server.
func newDatabase(t *testing.T) string {
	t.Helper()
	return pgtest.Shared(t).NewDatabaseFrom(t, "empty_store", createStore)
}

func createStore(database string) error {
	store, err := Open(context.Background(), database, Options{})
	if err != nil {
		return err
	}
	return store.Close()
}

func execFile(t *testing.T, path, script string) {
	t.Helper()
	c := sqlite.OpenFile(path)
	defer c.Close()
	must(t, c.Script(t.Context(), script))
}

func read(t *testing.T, store *Store, fn func(shop.ReadTx) error) {
	t.Helper()
	must(t, store.Read(t.Context(), shop.Reading{}, fn))
}

// selected returns the single value that a query selects in the transaction r.
func selected[T any](t *testing.T, r shop.ReadTx, query string) T {
	t.Helper()
	value, _, err := one(r.(*tx), scanValue[T], query)
	must(t, err)
	return value
}

func write(t *testing.T, store *Store, fn func(shop.WriteTx) error) {
	t.Helper()
	must(t, store.Write(t.Context(), shop.Writing{}, fn))
}

func wantUnavailable(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || shop.AsError(err).Code != shop.Unavailable {
		t.Errorf("%s: got %v, want unavailable", what, err)
	}
}

// listing is a read that lists pets.
func listing(tx shop.ReadTx) error {
	_, err := tx.Pets(shop.PetList{PageRequest: shop.PageRequest{Limit: 10}})
	return err
}

// executing returns a write that executes one statement.
func executing(text string) func(shop.WriteTx) error {
	return func(w shop.WriteTx) error { return w.(*tx).Exec(text) }
}

// adding returns a write that adds a pet to category 1. If the category does not exist, the write creates it.
func adding(name string) func(shop.WriteTx) error {
	return func(tx shop.WriteTx) error {
		if _, err := tx.EnsureCategories(1); err != nil {
			return err
		}
		return addingTo(1, name)(tx)
	}
}

// addingTo returns a write that adds a pet to an existing category.
func addingTo(category int64, name string) func(shop.WriteTx) error {
	return func(tx shop.WriteTx) error {
		_, err := tx.InsertPets(shop.NewPet{Name: name, CategoryID: category})
		return err
	}
}

// telling returns a write that records an event about the given subject.
func telling(subject string) func(shop.WriteTx) error {
	return func(tx shop.WriteTx) error {
		return tx.InsertEvents(shop.NewEvent{Type: shop.PetUpdated, Subject: subject, Actor: "system", Data: []byte("{}")})
	}
}

// addPets adds n pets in four categories. Each status is used for a third of the pets.
func addPets(t *testing.T, store *Store, n int) {
	t.Helper()
	write(t, store, func(tx shop.WriteTx) error {
		for i := range n {
			if _, err := tx.EnsureCategories(int64(i % 4)); err != nil {
				return err
			}
			pet := shop.NewPet{Name: fmt.Sprintf("pet %d", i), CategoryID: int64(i % 4), Status: shop.Statuses()[i%3]}
			if _, err := tx.InsertPets(pet); err != nil {
				return err
			}
		}
		return nil
	})
}

// names returns the names of all pets, newest first.
func names(t *testing.T, store *Store) string {
	t.Helper()
	var names []string
	read(t, store, func(tx shop.ReadTx) error {
		pets, err := tx.Pets(shop.PetList{PageRequest: shop.PageRequest{Limit: 1000}})
		for _, pet := range pets {
			names = append(names, pet.Name)
		}
		return err
	})
	return strings.Join(names, " ")
}

// setPragma changes a pragma on the writer's connection to a SQLite file.
func setPragma(t *testing.T, store *Store, setting string) {
	t.Helper()
	write(t, store, func(w shop.WriteTx) error { return w.(*tx).Conn.Exec(t.Context(), "PRAGMA "+setting, nil) })
}

// queuedContext closes queued when a write with this context has been put into the queue of its engine, which then asks
// for Done.
type queuedContext struct {
	context.Context
	once   sync.Once
	queued chan struct{}
}

func (c *queuedContext) Done() <-chan struct{} {
	c.once.Do(func() { close(c.queued) })
	return c.Context.Done()
}

// readFeed publishes all events and reads those after the given position. It returns the subjects of these
// events and the position of the last one.
func readFeed(t *testing.T, store *Store, after int64) (subjects []string, reached int64) {
	t.Helper()
	must(t, store.Publish(t.Context()))
	read(t, store, func(tx shop.ReadTx) error {
		subjects, reached = nil, after
		events, err := tx.Events(shop.EventFilter{}, shop.PageRequest{Limit: 10_000, After: &after})
		for _, e := range events.Items {
			subjects, reached = append(subjects, e.Subject), e.ID
		}
		return err
	})
	return subjects, reached
}
