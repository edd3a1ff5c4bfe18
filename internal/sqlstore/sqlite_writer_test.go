package sqlstore

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"animalstore/internal/shop"
)

// On a full disk, every write makes SQLite roll back the transaction of its group, and clients repeat their failed
// writes. The other members of such a group have to run again. The repeated writes must not starve them.
func TestMembersThatRunAgainAreNotStarved(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	queue := sqliteOf(store).writer.members
	var waiting sync.WaitGroup
	const most = 100
	ends := 0
	come := func(fn func(shop.WriteTx) error, succeeds bool) {
		before := len(queue)
		waiting.Go(func() {
			if err := store.Write(t.Context(), shop.Writing{}, fn); (err == nil) != succeeds {
				t.Errorf("got %v, want success %v", err, succeeds)
			}
		})
		for len(queue) == before {
			runtime.Gosched()
		}
	}
	var ruin func(shop.WriteTx) error
	ruin = func(tx shop.WriteTx) error {
		if ends++; ends == 1 {
			come(adding("A"), true)
		}
		// Queue another failing write until pet A has been committed.
		if ends < most && names(t, store) != "A" {
			come(ruin, false)
		}
		return executing("ROLLBACK")(tx)
	}
	if err := store.Write(t.Context(), shop.Writing{}, ruin); err == nil {
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
	addPets(t, store, 1)
	setPragma(t, store, "busy_timeout = 1")
	other := storeConn(sqliteOf(store).file.path, Options{})
	defer other.close()
	must(t, other.exec(t.Context(), "BEGIN IMMEDIATE", nil))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { wantUnavailable(t, "a write", store.Write(t.Context(), shop.Writing{}, adding("A"))) })
	}
	wg.Wait()
	if got := names(t, store); got != "pet 0" {
		t.Errorf("reads find %q, want pet 0", got)
	}
	other.rollback()
	write(t, store, adding("A"))
}

// setPragma changes a pragma on the writer's connection.
func setPragma(t *testing.T, store *Store, setting string) {
	t.Helper()
	// The pragma is set by a write, because the writer might be running a checkpoint on its connection.
	must(t, sqliteOf(store).write(t.Context(), shop.Writing{}, func(w shop.WriteTx) error {
		return w.(*tx).runner.exec(t.Context(), "PRAGMA "+setting, nil)
	}))
}

// The WAL grows until the writer runs a checkpoint. Then the WAL is overwritten from its start. A reader with
// an older snapshot delays the checkpoint and keeps its snapshot.
func TestWriterCheckpointsLongWAL(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	store := open(t, path, Options{Exclusive: true})
	const tenth = checkpointFrames * 4096 / 10 // a tenth of the bytes at which the writer runs a checkpoint
	large, n := strings.Repeat("x", tenth), 0
	commit := func(commits int) {
		t.Helper()
		for range commits {
			n++
			write(t, store, func(w shop.WriteTx) error { return w.(*tx).set(fmt.Sprint(n), large) })
		}
		// The last checkpoint may still be running. This write waits for it to finish.
		write(t, store, func(shop.WriteTx) error { return nil })
	}
	size := func(suffix string) int64 {
		t.Helper()
		info, err := os.Stat(path + suffix)
		must(t, err)
		return info.Size()
	}
	count := func(r shop.ReadTx) int64 { return selected[int64](t, r, "SELECT count(*) FROM settings") }
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
	read(t, store, func(r shop.ReadTx) error {
		first := count(r)
		commit(12)
		if again := count(r); again != first {
			t.Errorf("one snapshot has %d rows, then %d", first, again)
		}
		grown = size("-wal")
		return nil
	})
	commit(26)
	if wal := size("-wal"); wal > grown+15*tenth {
		t.Errorf("the WAL has %d bytes; it had %d when its last reader ended", wal, grown)
	}
}
