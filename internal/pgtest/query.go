package pgtest

import (
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// DB is a direct connection to a database, with which tests see what the database really contains. Its methods fail
// the test on any error.
type DB struct {
	*sql.DB
	t testing.TB
}

// Connect returns a connection to a database and closes it when the test ends.
func Connect(t testing.TB, url string) *DB {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.ConnectTimeout = stuckTimeout
	db := stdlib.OpenDB(*config)
	t.Cleanup(func() { db.Close() })
	return &DB{db, t}
}

// Do executes statements one by one.
func (db *DB) Do(statements ...string) {
	db.t.Helper()
	for _, statement := range statements {
		_, err := db.ExecContext(db.t.Context(), statement)
		db.check(statement, err)
	}
}

func (db *DB) check(statement string, err error) {
	db.t.Helper()
	if err != nil {
		db.t.Fatalf("%s: %v", statement, err)
	}
}

// Column returns the values of a query that selects a single column.
func Column[T any](db *DB, query string, args ...any) (values []T) {
	db.t.Helper()
	rows, err := db.QueryContext(db.t.Context(), query, args...)
	db.check(query, err)
	defer rows.Close()
	for rows.Next() {
		var value T
		db.check(query, rows.Scan(&value))
		values = append(values, value)
	}
	db.check(query, rows.Err())
	return values
}

// Value returns the only value that a query selects.
func Value[T any](db *DB, query string, args ...any) T {
	db.t.Helper()
	values := Column[T](db, query, args...)
	if len(values) != 1 {
		db.t.Fatalf("%s: got %v, want one value", query, values)
	}
	return values[0]
}

// Name returns the name of the database.
func (db *DB) Name() string {
	db.t.Helper()
	return Value[string](db, "SELECT current_database()")
}

// Await polls the database until a query selects true.
func (db *DB) Await(what, query string) {
	db.t.Helper()
	Await(db.t, what, func() bool { return Value[bool](db, query) })
}

// AwaitNoTransaction waits until no other session has an open transaction in the database.
func (db *DB) AwaitNoTransaction() {
	db.t.Helper()
	db.Await("the end of the last transaction", `SELECT NOT EXISTS (SELECT FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL)`)
}

// AwaitLockWait waits until a session in the database is waiting for a lock.
func (db *DB) AwaitLockWait() {
	db.t.Helper()
	db.Await("somebody to wait for a lock",
		"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')")
}

// Await polls until a condition is true. It fails the test if that takes too long.
func Await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(stuckTimeout); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// AwaitSignal waits until a channel is closed or has a value. It fails the test if that takes too long.
func AwaitSignal(t testing.TB, what string, signal <-chan struct{}) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(stuckTimeout):
		t.Fatalf("waited too long for %s", what)
	}
}
