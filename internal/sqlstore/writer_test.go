package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// together runs writes so that they share one transaction: the first holds the writer up until all the others wait.
// It returns their errors.
func together(t *testing.T, store *Store, writes ...func(shop.WriteTx) error) []error {
	t.Helper()
	started, release := make(chan struct{}), make(chan struct{})
	errs := make([]error, len(writes))
	var wg sync.WaitGroup
	var once sync.Once // a write may run again
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
		for len(sqliteOf(store).writer.queue) <= i { // in their order
			runtime.Gosched()
		}
	}
	close(release)
	wg.Wait()
	return errs
}

func adding(name string) func(shop.WriteTx) error {
	return func(tx shop.WriteTx) error {
		if _, err := tx.EnsureCategory(1); err != nil {
			return err
		}
		_, err := tx.InsertPet(shop.NewPet{Name: name, CategoryID: 1})
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

func TestWritesThatWaitTogetherShareOneCommit(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	var committed string
	errs := together(t, store, adding("A"), func(shop.WriteTx) error {
		committed = names(t, store) // by another connection: what is on the disk so far
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

func TestAMemberThatFailsUndoesOnlyItself(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	onPurpose := errors.New("on purpose")
	errs := together(t, store, adding("A"),
		func(tx shop.WriteTx) error { return errors.Join(adding("B")(tx), onPurpose) },
		adding("C"),
		func(tx shop.WriteTx) error { // breaks a constraint
			_, err := tx.InsertPet(shop.NewPet{Name: "D", CategoryID: 404})
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

// A full database refuses a large write, and none of its neighbours.
func TestAMemberThatFillsTheDatabase(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addPets(t, store, 10)
	pragma(t, store, "max_page_count = 20")
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
	pragma(t, store, "max_page_count = 100000")
	if err := store.Write(t.Context(), adding("later")); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

// An interrupted statement makes SQLite end the whole transaction in the middle of a group. The neighbours of the write
// that did it must neither get lost nor be answered for nothing.
func TestAMemberThatEndsTheTransaction(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	interrupted := func(wtx shop.WriteTx) error {
		tx := wtx.(*tx)
		var cancel context.CancelFunc
		tx.ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		defer tx.runner.(*conn).heed(tx.ctx)()
		return tx.exec(`INSERT INTO categories (id)
			WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000) SELECT i FROM n`)
	}
	errs := together(t, store, adding("A"), adding("B"), interrupted, adding("C"), interrupted, adding("D"))
	wantOutcomes(t, errs, true, true, false, true, false, true)
	if got := names(t, store); got != "D C B A" {
		t.Errorf("found %q, want D C B A", got)
	}
}

// A read that fails ends the transaction, too, where the disk is at fault; there is no savepoint yet to tell.
func TestAReadThatEndsTheTransaction(t *testing.T) {
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

// On a full disk, whoever changes something ends the transaction, and comes again. That must not keep the others from their
// answer.
func TestMembersThatEndOneTransactionAfterTheOther(t *testing.T) {
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
			t.Error("a write that ended its transaction was answered as done")
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
		t.Errorf("%d others came before it was answered; found %q", ends, names(t, store))
	}
}

// A commit that fails fails everybody in it: nothing was written, and nobody is told otherwise.
func TestACommitThatFails(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	orphan := func(wtx shop.WriteTx) error {
		return wtx.(*tx).exec("INSERT INTO pets (name, name_folded, category_id) VALUES ('orphan', 'ORPHAN', 404)")
	}
	errs := together(t, store, adding("A"), orphan, adding("B"))
	for i, err := range errs {
		if err == nil {
			t.Errorf("write %d was answered as done", i)
		}
	}
	if got := names(t, store); got != "" {
		t.Errorf("found %q after a commit that failed", got)
	}
	if err := store.Write(t.Context(), adding("later")); err != nil {
		t.Errorf("after a commit that failed: %v", err)
	}
}

// While another process holds the database for too long, writes are refused; then they work again.
func TestADatabaseThatIsHeld(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addPets(t, store, 1)
	pragma(t, store, "busy_timeout = 1")
	other, err := sqliteOf(store).db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
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
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := store.Write(t.Context(), adding("A")); err != nil {
		t.Errorf("when the database is free again: %v", err)
	}
}

// wantOutcomes checks which writes were done, and that the others failed because the database was away.
func wantOutcomes(t *testing.T, errs []error, done ...bool) {
	t.Helper()
	for i, err := range errs {
		if (err == nil) != done[i] || err != nil && shop.AsError(err).Code != shop.Unavailable {
			t.Errorf("write %d: got %v, want done %v or else unavailable", i, err, done[i])
		}
	}
}

// pragma changes a setting of the connection that writes.
func pragma(t *testing.T, store *Store, setting string) {
	t.Helper()
	if err := sqliteOf(store).writer.conn.exec(t.Context(), "PRAGMA "+setting, nil); err != nil {
		t.Fatal(err)
	}
}
