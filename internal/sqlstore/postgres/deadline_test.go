package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
	"animalstore/internal/sqlstore/engine"
)

// The server interrupts a read that takes too long or whose client has disconnected. Afterwards, the connection can be
// used again. A server that confirms the interruption is not considered lost.
func TestEndlessReadIsInterrupted(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, direct := open(t, database, Options{}), pgtest.Connect(t, database)
	store.cancelTimeout = ample // so that a slow response from a busy machine does not look like a lost server
	store.epoch.Store(1)        // so that connections that still have the default timeout are not used
	idle := func() {
		t.Helper()
		if n, epoch := store.pool.Stat().AcquiredConns(), store.epoch.Load(); n != 0 || epoch != 1 {
			t.Fatalf("%d connections are in use, and the epoch is %d", n, epoch)
		}
		direct.AwaitNoTransaction()
	}
	begun, ended := make(chan struct{}, 1), make(chan error)
	endless := func(tx *engine.Tx) error {
		begun <- struct{}{}
		return tx.Exec("SELECT pg_sleep(86400)")
	}
	ctx, disconnect := context.WithCancel(t.Context())
	defer disconnect()
	go func() { ended <- store.Read(ctx, endless) }()
	<-begun
	direct.Await("the statement to run", "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep')")
	disconnect()
	err := <-ended
	if wantUnavailable(t, "a read without a client", err); !errors.Is(err, context.Canceled) {
		t.Errorf("a read without a client: %v", err)
	}
	idle()
	for timeout := shortTimeout; len(begun) == 0; timeout *= 2 { // on a busy machine, the statement may begin late
		store.timeout = timeout
		err = store.Read(t.Context(), endless)
	}
	if e, ok := errors.AsType[*engine.Error](err); !ok || e.Class != engine.Timeout || e.Kind != engine.TimedOut {
		t.Errorf("a long read: %v", err)
	}
	idle()
	store.timeout = ample
	must(t, store.Read(t.Context(), listing))
}

// A statement whose context has already ended is never sent, so its failure does not mean that the server is lost.
func TestUnsentStatementDoesNotEndTheEpoch(t *testing.T) {
	t.Parallel()
	e := open(t, newDatabase(t), Options{})
	ended, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	err := e.withConn(t.Context(), func(conn *pgx.Conn) error {
		_, err := conn.Exec(ended, "SELECT 1")
		return err
	})
	if epoch := e.epoch.Load(); !errors.Is(err, context.DeadlineExceeded) || epoch != 0 {
		t.Errorf("it returned %v, and the epoch is %d", err, epoch)
	}
}
