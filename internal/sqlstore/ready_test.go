package sqlstore

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

// wantReady checks that a store is ready if words is empty. Otherwise it checks that the store is not ready
// and that its error contains words.
func wantReady(t *testing.T, store *Store, words string) {
	t.Helper()
	err := store.Ready(t.Context())
	if err == nil && words == "" {
		return
	}
	if err != nil && strings.Count(err.Error(), string(shop.Unavailable)) != 1 {
		t.Errorf("the error repeats its code: %v", err)
	}
	if e := shop.AsError(err); err == nil || words == "" || e.Code != shop.Unavailable || !strings.Contains(e.Message, words) {
		t.Fatalf("it is ready: %v, want %q", err, words)
	}
}

// After a failed write, a SQLite store is not ready until a write would succeed again.
func TestFileIsNotReadyUntilAWriteWorks(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	store := open(t, path, Options{Exclusive: true})
	write(t, store, func(tx shop.WriteTx) error { return tx.SetEnvironment(shop.Production) })
	wantReady(t, store, "")
	// A trigger is used to make writes fail, because a file that is already open cannot be made to refuse
	// them.
	execFile(t, path, "CREATE TRIGGER no_settings BEFORE UPDATE ON settings BEGIN SELECT RAISE(ABORT, 'on purpose'); END")
	wantReady(t, store, "") // the store is still ready, because no write has been tried
	err := store.Write(t.Context(), shop.Writing{}, func(w shop.WriteTx) error {
		conn := w.(*tx).Conn
		defer conn.Exec(t.Context(), "PRAGMA query_only = 0", nil)
		return errors.Join(conn.Exec(t.Context(), "PRAGMA query_only = 1", nil), adding("A")(w))
	})
	if got := engine.KindOf(err); got != engine.ReadOnly {
		t.Errorf("%v is %s", err, got)
	}
	wantReady(t, store, "the log has the error")
	wantReady(t, store, "the log has the error")
	execFile(t, path, "DROP TRIGGER no_settings")
	wantReady(t, store, "")
	setPragma(t, store, "max_page_count = 20")
	if err := store.Write(t.Context(), shop.Writing{}, flood); engine.KindOf(err) != engine.DiskFull {
		t.Errorf("%v is %s", err, engine.KindOf(err))
	}
	setPragma(t, store, "max_page_count = 100000")
	wantReady(t, store, "")
	// The two failed calls of Ready are included in these numbers, because Ready tried to write.
	for kind, n := range map[engine.Kind]float64{engine.DiskFull: 1, engine.ReadOnly: 1, engine.Other: 2, engine.Unreachable: 0} {
		if got := measured(t, store, "animalstore_database_errors_total", string(kind)); got != n {
			t.Errorf("%s was counted %v times, want %v", kind, got, n)
		}
	}
	must(t, os.Remove(path))
	wantReady(t, store, "removed or replaced")
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
