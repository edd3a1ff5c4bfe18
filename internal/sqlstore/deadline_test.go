package sqlstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// endless returns a read that runs one statement that never ends by itself. It sends a value on begun when the
// statement is about to begin.
func endless(statement string, begun chan<- struct{}) func(shop.ReadTx) error {
	return func(r shop.ReadTx) error {
		begun <- struct{}{}
		return r.(*tx).exec(statement)
	}
}

// A read that takes too long, or whose client has gone, is interrupted in the database, and its connection is
// free again. A PostgreSQL server that confirms the interruption is not taken for lost.
func TestEndlessReadIsInterrupted(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	direct := pgtest.Connect(t, database)
	for name, c := range map[string]struct {
		database, statement string
		idle                func(*testing.T, *Store)
	}{
		SQLite: {newFile(t), "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0",
			func(t *testing.T, store *Store) {
				if s := sqliteOf(store); len(s.readers) != cap(s.readers) {
					t.Errorf("%d of %d readers are free", len(s.readers), cap(s.readers))
				}
			}},
		Postgres: {database, "SELECT pg_sleep(86400)",
			func(t *testing.T, store *Store) {
				p := postgresOf(store)
				if n, epoch := p.pool.Stat().AcquiredConns(), p.epoch.Load(); n != 0 || epoch != 1 {
					t.Fatalf("%d connections are in use, and the epoch is %d", n, epoch)
				}
				direct.AwaitNoTransaction()
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t, c.database, Options{Exclusive: true})
			if p, ok := store.engine.(*postgresEngine); ok {
				p.cancelTimeout = ample // so that a busy machine does not look like a lost server
				p.epoch.Store(1)        // so that only connections with this timeout are used
			}
			begun := make(chan struct{}, 1)
			ctx, disconnect := context.WithCancel(t.Context())
			go func() {
				<-begun
				disconnect()
			}()
			err := store.Read(ctx, endless(c.statement, begun))
			if wantUnavailable(t, "a read without a client", err); !errors.Is(err, context.Canceled) {
				t.Errorf("a read without a client: %v", err)
			}
			c.idle(t, store)
			for budget := shortBudget; ; budget *= 2 { // a busy machine may take longer to begin the statement
				setReadTimeout(store, budget)
				err = store.Read(t.Context(), endless(c.statement, begun))
				if len(begun) > 0 {
					break
				}
			}
			wantUnavailable(t, "a long read", err)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(shop.AsError(err).Message, "took too long") || classify(err) != timedOut {
				t.Errorf("a long read: %v", err)
			}
			c.idle(t, store)
			setReadTimeout(store, ample)
			read(t, store, listing)
			if got := measured(t, store, "animalstore_database_errors_total", string(timedOut)); got == 0 {
				t.Error("the timeout was not counted")
			}
		})
	}
}

func setReadTimeout(store *Store, d time.Duration) {
	if p, ok := store.engine.(*postgresEngine); ok {
		p.retryBudget = d
	} else {
		sqliteOf(store).readTimeout = d
	}
}

// A statement whose context has already ended is not sent, which says nothing about the server.
func TestUnsentStatementDoesNotEndTheEpoch(t *testing.T) {
	t.Parallel()
	p := postgresOf(open(t, newDatabase(t), Options{}))
	ended, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	err := p.withConn(t.Context(), func(conn *pgx.Conn) error {
		_, err := conn.Exec(ended, "SELECT 1")
		return err
	})
	if epoch := p.epoch.Load(); !errors.Is(err, context.DeadlineExceeded) || epoch != 0 {
		t.Errorf("it returned %v, and the epoch is %d", err, epoch)
	}
}

// Readiness is reported in time, even if the write with which it is checked waits.
func TestReadinessIsReportedInTime(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, direct := open(t, database, Options{}), pgtest.Connect(t, database)
	write(t, store, func(tx shop.WriteTx) error { return tx.SetEnvironment(shop.Production) })
	store.failing.Store(true)
	locked, err := direct.BeginTx(t.Context(), nil)
	must(t, err)
	defer locked.Rollback()
	_, err = locked.Exec("LOCK TABLE settings IN EXCLUSIVE MODE")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready := make(chan error)
	go func() { ready <- store.Ready(ctx) }()
	direct.AwaitLockWait()
	cancel()
	wantUnavailable(t, "readiness", <-ready)
	direct.AwaitLockWait() // the write still waits
}
