package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

// together runs several writes alone in one group and returns their errors.
func together(t *testing.T, store *Store, writes ...func(shop.WriteTx) error) []error {
	t.Helper()
	list := make([]modelWrite, len(writes))
	for i, fn := range writes {
		list[i].fn = fn
	}
	return togetherDeclared(t, store, list...)
}

// togetherDeclared runs several writes in one group and returns their errors. To do so, it first starts a write that
// blocks the writer until all other writes are queued.
func togetherDeclared(t *testing.T, store *Store, writes ...modelWrite) []error {
	t.Helper()
	started, release := make(chan struct{}), make(chan struct{})
	errs := make([]error, len(writes))
	var wg sync.WaitGroup
	var once sync.Once // a write may run more than once
	wg.Go(func() {
		store.Write(t.Context(), shop.Writing{}, func(shop.WriteTx) error {
			once.Do(func() {
				close(started)
				<-release
			})
			return nil
		})
	})
	<-started
	for i, w := range writes {
		ctx := &queuedContext{Context: t.Context(), queued: make(chan struct{})}
		wg.Go(func() { errs[i] = store.Write(ctx, shop.Writing{Rows: w.set}, w.fn) })
		<-ctx.queued // queue the writes in order
	}
	close(release)
	wg.Wait()
	return errs
}

// wantDone checks that exactly the writes for which done is true have succeeded. It also checks the names of all
// pets.
func wantDone(t *testing.T, store *Store, errs []error, pets string, done ...bool) {
	t.Helper()
	for i, err := range errs {
		if (err == nil) != done[i] {
			t.Errorf("write %d: got %v, want success %v", i, err, done[i])
		}
	}
	if got := names(t, store); got != pets {
		t.Errorf("found %q, want %q", got, pets)
	}
}

// totals returns the sum of all inventory counts, the number of pets and the number of events.
func totals(t *testing.T, store *Store) (counted, pets, events int64) {
	t.Helper()
	read(t, store, func(tx shop.ReadTx) error {
		counted = selected[int64](t, tx, "SELECT sum(available + pending + sold + unspecified) FROM inventory")
		pets = selected[int64](t, tx, "SELECT count(*) FROM pets")
		events = selected[int64](t, tx, "SELECT count(*) FROM events")
		return nil
	})
	return counted, pets, events
}

// addPetWithEvent inserts a pet together with its event, as the shop does, and appends the pet's id to ids.
func addPetWithEvent(name string, ids *[]int64) func(shop.WriteTx) error {
	return func(tx shop.WriteTx) error {
		if _, err := tx.EnsureCategories(1); err != nil {
			return err
		}
		pets, err := tx.InsertPets(shop.NewPet{Name: name, CategoryID: 1, Status: shop.Available})
		if err != nil {
			return err
		}
		*ids = append(*ids, pets[0].ID)
		return telling(fmt.Sprintf("pets/%d", pets[0].ID))(tx)
	}
}

// flood is a write that adds more pets than a small database can hold.
func flood(tx shop.WriteTx) error {
	for range 10000 {
		if err := adding("flood")(tx); err != nil {
			return err
		}
	}
	return nil
}

// If a member fails, only its own changes are undone. Its neighbours are committed, even if the failure makes SQLite
// roll back the whole transaction.
func TestFailedMemberUndoesOnlyItself(t *testing.T) {
	t.Parallel()
	onPurpose := errors.New("on purpose")
	for name, c := range map[string]struct {
		fail        func(shop.WriteTx) error
		unavailable bool
	}{
		"its own error":   {func(tx shop.WriteTx) error { return errors.Join(adding("X")(tx), onPurpose) }, false},
		"a constraint":    {addingTo(404, "X"), false},
		"a full database": {flood, true},
		"an interrupted statement": {func(w shop.WriteTx) error {
			tx := w.(*tx)
			var cancel context.CancelFunc
			tx.Ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			return tx.Exec(`INSERT INTO categories (id)
				WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000) SELECT i FROM n WHERE i < 1003`)
		}, true},
		// This failure ends the transaction without an error of SQLite.
		"a failed read": {func(w shop.WriteTx) error {
			tx := w.(*tx)
			tx.Conn.Exec(tx.Ctx, "ROLLBACK", nil)
			return tx.Fail(&engine.Error{Class: engine.Unavailable, Err: errors.New("as if the disk had failed")})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := openNew(t)
			setPragma(t, store, "max_page_count = 20")
			errs := together(t, store, adding("A"), c.fail, adding("B"), c.fail, adding("C"))
			wantDone(t, store, errs, "C B A", true, false, true, false, true)
			if err := errs[1]; (shop.AsError(err).Code == shop.Unavailable) != c.unavailable {
				t.Errorf("got %v, want unavailable: %v", err, c.unavailable)
			}
			if name == "its own error" && !errors.Is(errs[1], onPurpose) {
				t.Errorf("got %v, want the closure's own error", errs[1])
			}
			setPragma(t, store, "max_page_count = 100000")
			write(t, store, adding("later"))
		})
	}
}

// If the commit fails, every member fails, because nothing was written.
func TestFailedCommitFailsEveryMember(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	orphan := executing("INSERT INTO pets (name, category_id) VALUES ('orphan', 404)")
	wantDone(t, store, together(t, store, adding("A"), orphan, adding("B")), "", false, false, false)
	write(t, store, adding("later"))
}

// The members of a group get consecutive pet ids in the order in which they run. A failed member leaves no
// gap.
func TestGroupAssignsIDsWithoutGaps(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addPets(t, store, 3) // these pets get the ids 1, 2 and 3
	var ids, failed []int64
	errs := together(t, store, addPetWithEvent("A", &ids),
		func(tx shop.WriteTx) error {
			return errors.Join(addPetWithEvent("B", &failed)(tx), errors.New("on purpose"))
		},
		addPetWithEvent("C", &ids),
		func(tx shop.WriteTx) error { // this member's statement sees the rows that earlier members queued
			if pet, found, err := tx.Pet(5); err != nil || !found || pet.Name != "C" {
				return fmt.Errorf("found %v, %v, %v", pet, found, err)
			}
			return addPetWithEvent("D", &ids)(tx)
		})
	wantDone(t, store, errs, "D C A pet 2 pet 1 pet 0", true, false, true, true)
	if !slices.Equal(ids, []int64{4, 5, 6}) {
		t.Errorf("the ids are %v, want 4, 5 and 6", ids)
	}
	if counted, pets, events := totals(t, store); counted != 6 || pets != 6 || events != 3 {
		t.Errorf("%d counted, %d animals, %d events; want 6, 6 and 3", counted, pets, events)
	}
	if got, last := readFeed(t, store, 0); !slices.Equal(got, []string{"pets/4", "pets/5", "pets/6"}) || last != 3 {
		t.Errorf("the events are of %v, and the last is %d", got, last)
	}
}

// A member sees which categories earlier members have created or removed, except for changes made by a failed
// member.
func TestGroupKnowsItsCategories(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	ensure := func(want int, then func(shop.WriteTx) error) func(shop.WriteTx) error {
		return func(tx shop.WriteTx) error {
			if created, err := tx.EnsureCategories(7); err != nil || len(created) != want {
				return fmt.Errorf("created %v, %v", created, err)
			}
			return then(tx)
		}
	}
	errs := together(t, store,
		ensure(1, func(shop.WriteTx) error { return errors.New("on purpose") }),
		addingTo(7, "orphan"), // the failed member has left no category behind
		ensure(1, func(shop.WriteTx) error { return nil }),
		ensure(0, func(tx shop.WriteTx) error { return tx.DeleteCategory(shop.Category{ID: 7}) }),
		addingTo(7, "orphan"),
		adding("A"))
	wantDone(t, store, errs, "A", false, false, true, true, false, true)
}

// A member sees the idempotency records of earlier members while these records are still queued. It does not see those
// of a failed member.
func TestGroupKnowsItsIdempotencyRecords(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	var seen []string
	note := func(body string) func(shop.WriteTx) error {
		return func(tx shop.WriteTx) error {
			found, _, err := tx.IdempotencyRecord(7, "k")
			seen = append(seen, string(found.Body))
			return errors.Join(err, tx.PutIdempotencyRecord(7, "k", shop.IdempotencyRecord{
				Fingerprint: [32]byte{1}, At: time.UnixMicro(1), StoredResponse: shop.StoredResponse{Status: 201, Body: []byte(body)},
			}))
		}
	}
	fail := func(tx shop.WriteTx) error { return errors.Join(note("failed")(tx), errors.New("on purpose")) }
	// This member stores two records with the same key. The statement between them inserts the queued rows.
	own := func(tx shop.WriteTx) error {
		return errors.Join(note("own")(tx), adding("A")(tx), tx.DeleteCategory(shop.Category{ID: 404}), note("last")(tx))
	}
	wantDone(t, store, together(t, store, note("first"), fail, note("second"), own, note("third")), "A", true, false, true, true, true)
	write(t, store, note("later"))
	if want := []string{"", "first", "first", "second", "own", "last", "third"}; !slices.Equal(seen, want) {
		t.Errorf("the writes found the records %q, want %q", seen, want)
	}
}

// A group does not rely on anything that an earlier group has read, because another process may have written
// in between.
func TestGroupSeesWritesOfOtherProcesses(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	store, other := open(t, path, Options{Exclusive: true}), open(t, path, Options{})
	var ids, others []int64
	for range 3 {
		write(t, store, addPetWithEvent("A", &ids))
		write(t, other, addPetWithEvent("B", &others))
		write(t, store, addPetWithEvent("C", &ids))
		write(t, other, func(tx shop.WriteTx) error {
			for _, id := range slices.Concat(ids, others) {
				if pet, found, err := tx.Pet(id); err != nil || found && tx.DeletePet(pet) != nil {
					return fmt.Errorf("cannot delete %d: %w", id, err)
				}
			}
			return tx.DeleteCategory(shop.Category{ID: 1})
		})
	}
	if got := fmt.Sprint(ids, others); got != "[1 3 4 6 7 9] [2 5 8]" {
		t.Errorf("the ids are %s", got)
	}
	if err := store.Write(t.Context(), shop.Writing{}, addingTo(1, "orphan")); err == nil {
		t.Error("an animal was taken without its category")
	}
}

// A write may add many rows. If it fails afterwards, none of its rows remain.
func TestLargeMemberIsUndoneWhole(t *testing.T) {
	t.Parallel()
	const n = 607
	for result, want := range map[error]int64{nil: n + 2, errors.New("on purpose"): 2} {
		store := openNew(t)
		var before, many, after []int64
		errs := together(t, store, addPetWithEvent("A", &before), func(tx shop.WriteTx) error {
			many = nil
			for i := range n {
				if err := addPetWithEvent(fmt.Sprintf("many %d", i), &many)(tx); err != nil {
					return err
				}
			}
			return result
		}, addPetWithEvent("B", &after))
		if errs[0] != nil || errs[2] != nil || !errors.Is(errs[1], result) {
			t.Errorf("got %v", errs)
		}
		if counted, pets, events := totals(t, store); counted != want || pets != want || events != want {
			t.Errorf("%d counted, %d animals, %d events; want %d of each", counted, pets, events, want)
		}
		if len(many) != n || many[n-1] != int64(n+1) || after[0] != want {
			t.Errorf("the last of many is %d, the one after them %d; want %d and %d", many[len(many)-1], after[0], n+1, want)
		}
	}
}

// If SQLite rejects the changes of a write that declares its rows, only this write fails. Here the data are damaged: an
// animal is available although an order holds it.
func TestRejectedChangesFailOnlyTheirWrite(t *testing.T) {
	t.Parallel()
	order := func(tx shop.WriteTx) error {
		now, err := tx.Now()
		if err == nil {
			_, err = tx.InsertOrder(shop.Order{PetID: 1, Status: shop.Placed, CreatedAt: now, UpdatedAt: now, HoldExpiresAt: now.Add(time.Hour)})
		}
		return err
	}
	create := func(name string) modelWrite {
		return modelWrite{set: &shop.WriteSet{Categories: []int64{1}}, fn: adding(name)}
	}
	again := modelWrite{set: &shop.WriteSet{Pets: []int64{1}}, fn: order}
	for name, last := range map[string]modelWrite{"saved before COMMIT": create("C"), "saved before a write that runs alone": {fn: adding("C")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := openNew(t)
			write(t, store, adding("A"))
			write(t, store, order)
			errs := togetherDeclared(t, store, create("B"), again, last)
			wantDone(t, store, errs, "C B A", true, false, true)
			if counted, pets, _ := totals(t, store); counted != pets {
				t.Errorf("%d animals are counted, there are %d", counted, pets)
			}
		})
	}
}
