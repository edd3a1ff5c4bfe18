package sqlstore

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"animalstore/internal/shop"
)

// group runs writes so that they share one transaction: the first holds the writer up until all the others wait.
// It returns their errors.
func group(t *testing.T, store *Store, writes ...func(shop.WriteTx) error) []error {
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
		for len(store.writer.queue) <= i { // in their order
			runtime.Gosched()
		}
	}
	close(release)
	wg.Wait()
	return errs
}

func adding(name string) func(shop.WriteTx) error {
	return func(tx shop.WriteTx) error {
		if err := tx.EnsureCategory(1); err != nil {
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
		pets, err := tx.Pets(shop.PetList{Limit: 1000})
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
	errs := group(t, store, adding("A"), func(shop.WriteTx) error {
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
	errs := group(t, store, adding("A"),
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

// A full database ends SQLite's transaction in the middle of a group. The neighbours of the write that did it must
// neither get lost nor be answered for nothing.
func TestAMemberThatEndsTheTransaction(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addPets(t, store, 10)
	limitPages(t, store, 20)
	flood := func(tx shop.WriteTx) error {
		for i := range 10000 {
			if err := adding(fmt.Sprintf("flood%d", i))(tx); err != nil {
				return err
			}
		}
		return nil
	}
	errs := group(t, store, adding("A"), adding("B"), flood, adding("C"), flood, adding("D"))
	for i, want := range []bool{true, true, false, true, false, true} {
		if (errs[i] == nil) != want {
			t.Errorf("write %d: %v", i, errs[i])
		}
		if err := errs[i]; err != nil && shop.AsError(err).Code != shop.Unavailable {
			t.Errorf("write %d: %v, want unavailable", i, err)
		}
	}
	if got := names(t, store); !strings.HasPrefix(got, "D C B A pet") || strings.Contains(got, "flood") {
		t.Errorf("found %q, want D C B A and what was there before", got)
	}
	limitPages(t, store, 1<<20)
	if err := store.Write(t.Context(), adding("later")); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

// limitPages makes SQLite itself run out of room.
func limitPages(t *testing.T, store *Store, pages int) {
	t.Helper()
	if _, err := store.writer.conn.open.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
}
