package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

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

// After a write has failed because the disk is full, a store is not ready until there is space for the writes of its
// clients. A smaller write that works changes nothing.
func TestFullStoreIsNotReady(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	store := open(t, path, Options{Exclusive: true})
	wantReady(t, store, "")
	setPragma(t, store, "max_page_count = 1") // SQLite makes this the current size of the file
	wantReady(t, store, "")                   // no write has failed yet
	err := store.Write(t.Context(), shop.Writing{}, flood)
	if !errors.Is(err, shop.ErrFull) || engine.KindOf(err) != engine.DiskFull || strings.Contains(shop.AsError(err).Message, "try again") {
		t.Errorf("a write to a full disk: got %v", err)
	}
	for range 3 {
		wantReady(t, store, "the disk is full")
		store.failing.Load().probed = time.Time{}                           // let the next check try to write as well
		setPragma(t, store, fmt.Sprint("application_id = ", applicationID)) // a smaller write
	}
	setPragma(t, store, "max_page_count = 100000")
	wantReady(t, store, "")
	write(t, store, adding("A"))
	must(t, os.Remove(path))
	wantReady(t, store, "removed or replaced")
}

// A store that is opened on a full disk is not ready, although no client has tried to write yet.
func TestStoreOpenedOnFullDiskIsNotReady(t *testing.T) {
	t.Parallel()
	store := open(t, newFile(t), Options{Exclusive: true})
	setPragma(t, store, "max_page_count = 1")
	wantReady(t, store, "the disk is full")
	setPragma(t, store, "max_page_count = 100000")
	// Checks at short intervals do not try to write, because anybody may cause them.
	store.failing.Load().probed = time.Now().Add(time.Hour)
	wantReady(t, store, "the disk is full")
	store.failing.Load().probed = time.Now().Add(-probeInterval)
	wantReady(t, store, "")
}

// A readiness check that waits for another one ends with its request.
func TestReadinessChecksDoNotPileUp(t *testing.T) {
	t.Parallel()
	store := open(t, newFile(t), Options{Exclusive: true})
	store.probing <- struct{}{} // another check tries to write
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	wantUnavailable(t, "readiness", store.Ready(ctx))
	store.checks.Wait()
	<-store.probing
	wantReady(t, store, "")
}

// An error that concerns one write does not make a store unready, and readiness checks do not even try to write.
func TestErrorOfOneWriteLeavesStoreReady(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]string{"file": newFile(t), "server": newDatabase(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t, database, Options{Exclusive: true, RetryBudget: time.Second})
			wantReady(t, store, "")
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			for _, failed := range []error{
				store.Write(t.Context(), shop.Writing{}, addingTo(404, "orphan")),
				store.Write(t.Context(), shop.Writing{}, func(w shop.WriteTx) error { return w.(*tx).Exec("nonsense") }),
				store.Write(ended, shop.Writing{}, adding("A")),
				store.Write(t.Context(), shop.Writing{}, func(shop.WriteTx) error { return context.DeadlineExceeded }),
			} {
				if failed == nil {
					t.Error("a write succeeded, want an error")
				}
			}
			if known := store.failing.Load(); known != nil {
				t.Errorf("a readiness check would try to write because of %v", known.err)
			}
		})
	}
}

// Ready returns when its context ends, even if the write that it makes as a check is still waiting for a lock. If a
// client's write fails in the meantime, the result of the check does not hide that.
func TestReadinessIsReportedInTime(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, direct := open(t, database, Options{}), pgtest.Connect(t, database)
	store.failing.Store(&writeFailure{})
	locked, err := direct.BeginTx(t.Context(), nil)
	must(t, err)
	defer locked.Rollback()
	_, err = locked.Exec("LOCK TABLE write_outcomes IN EXCLUSIVE MODE")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready := make(chan error)
	go func() { ready <- store.Ready(ctx) }()
	direct.AwaitLockWait()
	cancel()
	wantUnavailable(t, "readiness", <-ready)
	direct.AwaitLockWait() // the write is still waiting for the lock, although Ready has returned
	store.rememberFailure(&engine.Error{Kind: engine.DiskFull, Class: engine.Unavailable, Err: errors.New("full")})
	_, err = locked.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
	must(t, err)
	store.checks.Wait()
	if known := store.failing.Load(); known == nil || engine.KindOf(known.err) != engine.DiskFull {
		t.Errorf("the failure of a write was replaced by %+v", known)
	}
}
