package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/sqlstore/engine"
)

// A read that takes too long, or whose client has disconnected, is interrupted. Afterwards, the connection can be used
// again.
func TestEndlessReadIsInterrupted(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	begun := make(chan struct{}, 1)
	endless := func(tx *engine.Tx) error {
		begun <- struct{}{}
		return tx.Exec("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0")
	}
	ctx, disconnect := context.WithCancel(t.Context())
	go func() {
		<-begun
		disconnect()
	}()
	err := store.Read(ctx, endless)
	if wantUnavailable(t, "a read without a client", err); !errors.Is(err, context.Canceled) {
		t.Errorf("a read without a client: %v", err)
	}
	for timeout := 100 * time.Millisecond; len(begun) == 0; timeout *= 2 { // on a busy machine, the statement may begin late
		store.options.Timeout = timeout
		err = store.Read(t.Context(), endless)
	}
	if e, ok := errors.AsType[*engine.Error](err); !ok || e.Class != engine.Timeout || e.Kind != engine.TimedOut {
		t.Errorf("a long read: %v", err)
	}
	store.options.Timeout = ample
	if len(store.readers) != cap(store.readers) || names(t, store) != "" {
		t.Errorf("%d of %d readers are free", len(store.readers), cap(store.readers))
	}
}

// An engine is ready even while all of its readers are in use, because readiness checks have their own connection.
func TestReadinessDoesNotWaitForReads(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	release := make(chan struct{})
	var reads sync.WaitGroup
	defer reads.Wait()
	defer close(release)
	for range cap(store.readers) {
		began := make(chan struct{})
		reads.Go(func() {
			err := store.Read(t.Context(), func(*engine.Tx) error {
				close(began)
				<-release
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-began
	}
	for range 3 {
		must(t, store.Ready(t.Context()))
	}
}

// A process that shares the file with a service does not migrate it, because the service would not know the new tables.
// After the service has stopped, the process migrates the file.
func TestOlderFileIsNotMigratedUnderAService(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	service, err := Open(t.Context(), path, options())
	must(t, err)
	newer := options()
	newer.Exclusive = false
	newer.Schema.Migrations = append(newer.Schema.Migrations, "CREATE TABLE more (id INTEGER)")
	_, err = Open(t.Context(), path, newer)
	if err == nil || !strings.Contains(err.Error(), "stop the running service of the older version first") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a newer command beside an older service: %v", err)
	}
	same := options()
	same.Exclusive = false
	must(t, openPath(t, path, same).add(t.Context(), "beside the service"))
	must(t, service.Close())
	store := openPath(t, path, newer)
	must(t, store.Write(t.Context(), executing("INSERT INTO more (id) VALUES (1)")))
	openPath(t, path, func() Options { newer.Exclusive = true; return newer }()) // the lock was released after the migration
}

// TryWrite writes to the disk, although it leaves nothing behind. It fails if the disk is full.
func TestTryWriteNeedsSpace(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	must(t, store.add(t.Context(), "A"))
	setting := func(name string) (value int64) {
		t.Helper()
		must(t, store.Write(t.Context(), func(tx *engine.Tx) (err error) {
			value, _, err = engine.One(tx, engine.ScanValue[int64], "PRAGMA "+name)
			return err
		}))
		return value
	}
	pages, cache := setting("page_count"), setting("cache_size")
	must(t, store.TryWrite(t.Context()))
	if info, err := os.Stat(store.file.path + "-wal"); err != nil || info.Size() < engine.ProbeSize {
		t.Errorf("the WAL: got %v, %v, want at least %d bytes", info, err, engine.ProbeSize)
	}
	setting("max_page_count = 1") // SQLite makes this the current number of pages
	if err := store.TryWrite(t.Context()); engine.KindOf(err) != engine.DiskFull {
		t.Errorf("with a full disk: %v", err)
	}
	setting("max_page_count = 100000")
	must(t, store.TryWrite(t.Context()))
	if n, size := setting("page_count"), setting("cache_size"); n != pages || size != cache {
		t.Errorf("got %d pages and a cache of %d, want %d and %d as before", n, size, pages, cache)
	}
	if got := names(t, store); got != "A" {
		t.Errorf("found %q, want only A", got)
	}
}
