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

// The database interrupts a read that takes too long or whose client has disconnected. Afterwards, the connection can
// be used again. A PostgreSQL server that confirms the interruption is not considered lost.
func TestEndlessReadIsInterrupted(t *testing.T) {
	t.Parallel()
	t.Run(SQLite, func(t *testing.T) {
		t.Parallel()
		store := openNew(t)
		s := sqliteOf(store)
		endless := "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0"
		testEndlessRead(t, store, endless, func() {}, func() {
			if len(s.readers) != cap(s.readers) {
				t.Errorf("%d of %d readers are free", len(s.readers), cap(s.readers))
			}
		})
	})
	t.Run(Postgres, func(t *testing.T) {
		t.Parallel()
		database := newDatabase(t)
		store, direct := open(t, database, Options{}), pgtest.Connect(t, database)
		p := postgresOf(store)
		p.cancelTimeout = ample // so that a slow response from a busy machine does not look like a lost server
		p.epoch.Store(1)        // so that connections that still have the default timeout are not used
		const running = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep')"
		testEndlessRead(t, store, "SELECT pg_sleep(86400)", func() { direct.Await("the statement to run", running) }, func() {
			if n, epoch := p.pool.Stat().AcquiredConns(), p.epoch.Load(); n != 0 || epoch != 1 {
				t.Fatalf("%d connections are in use, and the epoch is %d", n, epoch)
			}
			direct.AwaitNoTransaction()
		})
	})
}

// testEndlessRead interrupts an endless statement twice: by cancelling its context, as when the client disconnects,
// and by the read timeout. It calls await to wait until the statement is running, and idle to check afterwards that
// the database is idle.
func testEndlessRead(t *testing.T, store *Store, statement string, await, idle func()) {
	begun, ended := make(chan struct{}, 1), make(chan error)
	endless := func(r shop.ReadTx) error {
		begun <- struct{}{}
		return r.(*tx).exec(statement)
	}
	ctx, disconnect := context.WithCancel(t.Context())
	defer disconnect()
	go func() { ended <- store.Read(ctx, shop.Reading{}, endless) }()
	<-begun
	await()
	disconnect()
	err := <-ended
	if wantUnavailable(t, "a read without a client", err); !errors.Is(err, context.Canceled) {
		t.Errorf("a read without a client: %v", err)
	}
	idle()
	for budget := shortBudget; len(begun) == 0; budget *= 2 { // on a busy machine, the statement may begin late
		setReadTimeout(store, budget)
		err = store.Read(t.Context(), shop.Reading{}, endless)
	}
	wantUnavailable(t, "a long read", err)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(shop.AsError(err).Message, "took too long") || classify(err) != timedOut {
		t.Errorf("a long read: %v", err)
	}
	idle()
	setReadTimeout(store, ample)
	read(t, store, listing)
	if measured(t, store, "animalstore_database_errors_total", string(timedOut)) == 0 {
		t.Error("the timeout was not counted")
	}
}

func setReadTimeout(store *Store, d time.Duration) {
	if p, ok := store.engine.(*postgresEngine); ok {
		p.retryBudget = d
	} else {
		sqliteOf(store).readTimeout = d
	}
}

// A statement whose context has already ended is never sent, so its failure does not mean that the server is lost.
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

// Ready returns when its context ends, even if the write that it makes as a check is still waiting for a lock.
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
	direct.AwaitLockWait() // the write is still waiting for the lock, although Ready has returned
}
