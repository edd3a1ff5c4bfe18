package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// together runs several writes in one group and returns their errors. To do so, it first starts a write that
// blocks the writer until all other writes are queued.
func together(t *testing.T, store *Store, writes ...func(shop.WriteTx) error) []error {
	t.Helper()
	started, release := make(chan struct{}), make(chan struct{})
	errs := make([]error, len(writes))
	var wg sync.WaitGroup
	var once sync.Once // a member may run more than once
	wg.Go(func() {
		store.Write(t.Context(), func(shop.WriteTx) error {
			once.Do(func() {
				close(started)
				<-release
			})
			return nil
		})
	})
	<-started
	for i, fn := range writes {
		wg.Go(func() { errs[i] = store.Write(t.Context(), fn) })
		for len(sqliteOf(store).writer.queue) <= i { // queue the writes in order
			runtime.Gosched()
		}
	}
	close(release)
	wg.Wait()
	return errs
}

func adding(name string) func(shop.WriteTx) error {
	return func(tx shop.WriteTx) error {
		if _, err := tx.EnsureCategories(1); err != nil {
			return err
		}
		_, err := tx.InsertPets(shop.NewPet{Name: name, CategoryID: 1})
		return err
	}
}

func names(t *testing.T, store *Store) string {
	t.Helper()
	var names []string
	err := store.Read(t.Context(), func(tx shop.ReadTx) error {
		pets, err := tx.Pets(shop.PetList{PageRequest: shop.PageRequest{Limit: 1000}})
		for _, pet := range pets {
			names = append(names, pet.Name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

func TestWaitingWritesShareOneCommit(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	var committed string
	errs := together(t, store, adding("A"), func(shop.WriteTx) error {
		committed = names(t, store) // a reader sees only committed data
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if committed != "" {
		t.Errorf("%q was committed before its neighbour ran", committed)
	}
	if got := names(t, store); got != "A" {
		t.Errorf("found %q, want A", got)
	}
}

func TestFailedMemberUndoesOnlyItself(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	onPurpose := errors.New("on purpose")
	errs := together(t, store, adding("A"),
		func(tx shop.WriteTx) error { return errors.Join(adding("B")(tx), onPurpose) },
		adding("C"),
		func(tx shop.WriteTx) error { // violates a constraint
			_, err := tx.InsertPets(shop.NewPet{Name: "D", CategoryID: 404})
			return err
		},
		adding("E"))
	for i, want := range []bool{true, false, true, false, true} {
		if (errs[i] == nil) != want {
			t.Errorf("write %d: %v", i, errs[i])
		}
	}
	if !errors.Is(errs[1], onPurpose) {
		t.Errorf("got %v, want the closure's own error", errs[1])
	}
	if got := names(t, store); got != "E C A" {
		t.Errorf("found %q, want E C A", got)
	}
}

// If the database becomes full, the large member fails, but the other members of its group do not.
func TestFullDatabaseFailsOnlyTheLargeMember(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addPets(t, store, 10)
	setPragma(t, store, "max_page_count = 20")
	flood := func(tx shop.WriteTx) error {
		for i := range 10000 {
			if err := adding(fmt.Sprintf("flood%d", i))(tx); err != nil {
				return err
			}
		}
		return nil
	}
	errs := together(t, store, adding("A"), flood, adding("B"))
	wantOutcomes(t, errs, true, false, true)
	if got := names(t, store); !strings.HasPrefix(got, "B A pet") || strings.Contains(got, "flood") {
		t.Errorf("found %q, want B A and what was there before", got)
	}
	setPragma(t, store, "max_page_count = 100000")
	if err := store.Write(t.Context(), adding("later")); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

// If a statement is interrupted, SQLite rolls back the whole transaction. The other members of the group must
// still be committed.
func TestInterruptedMemberDoesNotLoseItsNeighbours(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	interrupted := func(wtx shop.WriteTx) error {
		tx := wtx.(*tx)
		var cancel context.CancelFunc
		tx.ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		return tx.exec(`INSERT INTO categories (id)
			WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000) SELECT i FROM n`)
	}
	errs := together(t, store, adding("A"), adding("B"), interrupted, adding("C"), interrupted, adding("D"))
	wantOutcomes(t, errs, true, true, false, true, false, true)
	if got := names(t, store); got != "D C B A" {
		t.Errorf("found %q, want D C B A", got)
	}
}

// A failed read can end the transaction before the member has a savepoint. The other members are still
// committed.
func TestFailedReadDoesNotLoseTheGroup(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	wantOutcomes(t, together(t, store, adding("A"), func(w shop.WriteTx) error {
		t := w.(*tx)
		t.runner.exec(t.ctx, "ROLLBACK", nil)
		t.failed = shop.UnavailableError(errors.New("as if the disk had failed"))
		return t.failed
	}, adding("B")), true, false, true)
	if got := names(t, store); got != "B A" {
		t.Errorf("found %q, want B and A", got)
	}
}

// On a full disk, every write ends the transaction, and its client tries again. These attempts must not
// starve the members that have to run again.
func TestMembersThatRunAgainAreNotStarved(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	queue := sqliteOf(store).writer.queue
	var waiting sync.WaitGroup
	var answered atomic.Bool
	const most = 100
	ends := 0
	var ruin func(shop.WriteTx) error
	come := func(fn func(shop.WriteTx) error, then func(error)) {
		before := len(queue)
		waiting.Go(func() { then(store.Write(t.Context(), fn)) })
		for len(queue) == before {
			runtime.Gosched()
		}
	}
	refused := func(err error) {
		if err == nil {
			t.Error("a write that ended its transaction succeeded")
		}
	}
	ruin = func(wtx shop.WriteTx) error {
		if ends++; ends == 1 {
			come(adding("A"), func(err error) {
				answered.Store(true)
				if err != nil {
					t.Error(err)
				}
			})
		}
		if ends < most && !answered.Load() {
			come(ruin, refused)
		}
		return wtx.(*tx).exec("ROLLBACK")
	}
	refused(store.Write(t.Context(), ruin))
	waiting.Wait()
	if ends >= most || names(t, store) != "A" {
		t.Errorf("%d other writes ran before it returned; found %q", ends, names(t, store))
	}
}

// If the commit fails, every member fails, because nothing was written.
func TestFailedCommitFailsEveryMember(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	orphan := func(wtx shop.WriteTx) error {
		return wtx.(*tx).exec("INSERT INTO pets (name, name_folded, category_id) VALUES ('orphan', 'ORPHAN', 404)")
	}
	errs := together(t, store, adding("A"), orphan, adding("B"))
	for i, err := range errs {
		if err == nil {
			t.Errorf("write %d succeeded", i)
		}
	}
	if got := names(t, store); got != "" {
		t.Errorf("found %q after a commit that failed", got)
	}
	if err := store.Write(t.Context(), adding("later")); err != nil {
		t.Errorf("after a commit that failed: %v", err)
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
	if err := other.exec(t.Context(), "BEGIN IMMEDIATE", nil); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() { errs[i] = store.Write(t.Context(), adding("A")) })
	}
	wg.Wait()
	wantOutcomes(t, errs, make([]bool, len(errs))...)
	if got := names(t, store); got != "pet 0" {
		t.Errorf("reads find %q, want pet 0", got)
	}
	other.rollback()
	if err := store.Write(t.Context(), adding("A")); err != nil {
		t.Errorf("when the database is free again: %v", err)
	}
}

// wantOutcomes checks the outcome of each write. The write must have succeeded if done is true for it, and
// failed with an unavailable error otherwise.
func wantOutcomes(t *testing.T, errs []error, done ...bool) {
	t.Helper()
	for i, err := range errs {
		if (err == nil) != done[i] || err != nil && shop.AsError(err).Code != shop.Unavailable {
			t.Errorf("write %d: got %v, want success %v or else unavailable", i, err, done[i])
		}
	}
}

// setPragma changes a pragma on the writer's connection.
func setPragma(t *testing.T, store *Store, setting string) {
	t.Helper()
	// The pragma is set by a write, because the writer might be running a checkpoint on its connection.
	err := sqliteOf(store).write(t.Context(), func(w shop.WriteTx) error {
		return w.(*tx).runner.exec(t.Context(), "PRAGMA "+setting, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The WAL grows until the writer runs a checkpoint. Then the WAL is overwritten from its start. A reader with
// an older snapshot delays the checkpoint and keeps its snapshot.
func TestWriterCheckpointsLongWAL(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	store := open(t, path, Options{Exclusive: true})
	large, n := strings.Repeat("x", 400_000), 0 // about a hundred pages
	write := func(commits int) {
		t.Helper()
		for range commits {
			n++
			if err := store.Write(t.Context(), func(w shop.WriteTx) error { return w.(*tx).set(fmt.Sprint(n), large) }); err != nil {
				t.Fatal(err)
			}
		}
		// The last checkpoint may still be running. This write waits for it to finish.
		if err := store.Write(t.Context(), func(shop.WriteTx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	size := func(suffix string) int64 {
		t.Helper()
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	count := func(r shop.ReadTx) int64 {
		t.Helper()
		rows, _, err := one(r.(*tx), scanValue[int64], "SELECT count(*) FROM settings")
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	before := size("")
	write(4)
	if after := size(""); after != before {
		t.Errorf("the database grew from %d to %d bytes before the WAL was long", before, after)
	}
	write(26)
	if data, wal := size(""), size("-wal"); data < 7_000_000 || wal > 6_000_000 {
		t.Errorf("of 12 MB, %d bytes are in the database; the WAL has %d", data, wal)
	}
	var grown int64
	err := store.Read(t.Context(), func(r shop.ReadTx) error {
		first := count(r)
		write(12)
		if again := count(r); again != first {
			t.Errorf("one snapshot has %d rows, then %d", first, again)
		}
		grown = size("-wal")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	write(26)
	if wal := size("-wal"); wal > grown+6_000_000 {
		t.Errorf("the WAL has %d bytes; it had %d when its last reader ended", wal, grown)
	}
}
