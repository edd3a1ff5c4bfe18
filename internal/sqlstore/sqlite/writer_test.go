package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"animalstore/internal/sqlstore/engine"
)

// On a full disk, every write makes SQLite roll back the transaction of its group, and clients repeat their failed
// writes. The other writes of such a group have to run again. The repeated writes must not starve them.
func TestWritesThatRunAgainAreNotStarved(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	queue := store.writer.queue
	var waiting sync.WaitGroup
	const most = 100
	ends := 0
	come := func(fn func(*engine.Tx) error, succeeds bool) {
		before := queue.Waiting()
		waiting.Go(func() {
			if err := store.Write(t.Context(), fn); (err == nil) != succeeds {
				t.Errorf("got %v, want success %v", err, succeeds)
			}
		})
		for queue.Waiting() == before {
			runtime.Gosched()
		}
	}
	var ruin func(*engine.Tx) error
	ruin = func(tx *engine.Tx) error {
		if ends++; ends == 1 {
			come(adding("A"), true)
		}
		// Queue another failing write until A has been committed.
		if ends < most && names(t, store) != "A" {
			come(ruin, false)
		}
		return executing("ROLLBACK")(tx)
	}
	if err := store.Write(t.Context(), ruin); err == nil {
		t.Error("a write that ended its transaction succeeded")
	}
	waiting.Wait()
	if ends >= most || names(t, store) != "A" {
		t.Errorf("%d other writes ran before that of A; found %q", ends, names(t, store))
	}
}

// Writes are refused if another process holds the write lock for too long.
func TestLockedDatabaseRefusesWritesUntilReleased(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	must(t, store.add(t.Context(), "Rex"))
	must(t, store.Write(t.Context(), executing("PRAGMA busy_timeout = 1")))
	other := storeConn(store.file.path, false)
	defer other.Close()
	must(t, other.Exec(t.Context(), "BEGIN IMMEDIATE", nil))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { wantUnavailable(t, "a write", store.add(t.Context(), "A")) })
	}
	wg.Wait()
	if got := names(t, store); got != "Rex" {
		t.Errorf("reads find %q, want Rex", got)
	}
	other.rollback()
	must(t, store.add(t.Context(), "A"))
}

// The WAL grows until the writer runs a checkpoint. Then the WAL is overwritten from its start. A reader with
// an older snapshot delays the checkpoint and keeps its snapshot.
func TestWriterCheckpointsLongWAL(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	store := openPath(t, path, options())
	const tenth = checkpointFrames * 4096 / 10 // a tenth of the bytes at which the writer runs a checkpoint
	large := strings.Repeat("x", tenth)
	commit := func(commits int) {
		t.Helper()
		for range commits {
			must(t, store.Write(t.Context(), adding(large)))
		}
		// The last checkpoint may still be running. This write waits for it to finish.
		must(t, store.Write(t.Context(), func(*engine.Tx) error { return nil }))
	}
	size := func(suffix string) int64 {
		t.Helper()
		info, err := os.Stat(path + suffix)
		must(t, err)
		return info.Size()
	}
	count := func(r *engine.Tx) int64 {
		n, _, err := engine.One(r, engine.ScanValue[int64], "SELECT count(*) FROM names")
		must(t, err)
		return n
	}
	before := size("")
	commit(4)
	if after := size(""); after != before {
		t.Errorf("the database grew from %d to %d bytes before the WAL was long", before, after)
	}
	commit(26)
	if data, wal := size(""), size("-wal"); data < 17*tenth || wal > 15*tenth {
		t.Errorf("of %d bytes, %d are in the database; the WAL has %d", 30*tenth, data, wal)
	}
	var grown int64
	must(t, store.Read(t.Context(), func(r *engine.Tx) error {
		first := count(r)
		commit(12)
		if again := count(r); again != first {
			t.Errorf("one snapshot has %d rows, then %d", first, again)
		}
		grown = size("-wal")
		return nil
	}))
	commit(26)
	if wal := size("-wal"); wal > grown+15*tenth {
		t.Errorf("the WAL has %d bytes; it had %d when its last reader ended", wal, grown)
	}
}

// A large write makes the WAL file long. The file shrinks again when the WAL has been overwritten from its start.
func TestLongWALShrinks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	store := openPath(t, path, options())
	size := func() int64 {
		t.Helper()
		info, err := os.Stat(path + "-wal")
		must(t, err)
		return info.Size()
	}
	must(t, store.Write(t.Context(), adding(strings.Repeat("x", walLimit+walLimit/4))))
	if n := size(); n <= walLimit {
		t.Fatalf("the WAL has %d bytes, so the test proves nothing", n)
	}
	must(t, store.add(t.Context(), "Rex"))
	if n := size(); n > walLimit {
		t.Errorf("the WAL still has %d bytes", n)
	}
}

// A step has a transaction of its own: writes that are waiting do not join it, and it joins no group.
func TestStepHasATransactionOfItsOwn(t *testing.T) {
	t.Parallel()
	o := options()
	commits := 0
	o.AfterWrite = func(engine.Touched, bool) { commits++ }
	store := openPath(t, filepath.Join(t.TempDir(), "test.db"), o)
	var waiting sync.WaitGroup
	// come queues a write and returns when it waits for the running one.
	come := func(p engine.Priority, name string) {
		ctx := &askedContext{Context: t.Context(), asked: make(chan struct{})}
		waiting.Go(func() {
			err := store.Engine.Write(ctx, engine.WriteOptions{Priority: p}, func(tx *engine.Tx) (engine.Touched, error) { return 0, adding(name)(tx) })
			if err != nil {
				t.Error(err)
			}
		})
		<-ctx.asked
	}
	err := store.Engine.Write(t.Context(), engine.WriteOptions{Priority: engine.Bulk}, func(tx *engine.Tx) (engine.Touched, error) {
		come(engine.Background, "job")
		come(engine.Bulk, "import")
		come(engine.Interactive, "A")
		come(engine.Interactive, "B")
		return 0, adding("first")(tx)
	})
	must(t, err)
	waiting.Wait()
	must(t, store.Close()) // wait until AfterWrite has been called for all writes
	if commits != 4 {
		t.Errorf("there were %d transactions, want one for each of three steps, and one for A and B", commits)
	}
	if got := names(t, openPath(t, store.file.path, options())); got != "first A B job import" {
		t.Errorf("the order is %q", got)
	}
}

// askedContext closes asked when it is asked for Done, which the queue does as soon as it has the write.
type askedContext struct {
	context.Context
	once  sync.Once
	asked chan struct{}
}

func (c *askedContext) Done() <-chan struct{} {
	c.once.Do(func() { close(c.asked) })
	return c.Context.Done()
}
