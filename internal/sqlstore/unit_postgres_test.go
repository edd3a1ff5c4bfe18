package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

// unitHarness runs units on PostgreSQL with the writes that a test chooses. The functions of the writes run between
// loading and saving, so a test can make other transactions happen at that time.
type unitHarness struct {
	*testing.T
	store  *Store
	direct *pgtest.DB
	pets   []shop.Pet // available pets in category 1
}

func newUnitHarness(t *testing.T, pets int) *unitHarness {
	t.Helper()
	database := newDatabase(t)
	h := &unitHarness{T: t, store: open(t, database, Options{}), direct: pgtest.Connect(t, database)}
	write(t, h.store, func(tx shop.WriteTx) (err error) {
		if _, err := tx.EnsureCategories(1); err != nil {
			return err
		}
		h.pets, err = tx.InsertPets(slices.Repeat([]shop.NewPet{{Name: "Rex", CategoryID: 1, Status: shop.Available}}, pets)...)
		return err
	})
	return h
}

// unitWrite is a write that declares its rows, and its result.
type unitWrite struct {
	declaredWrite
	err error
}

func declaring(set shop.WriteSet, fn func(shop.WriteTx) error) *unitWrite {
	return &unitWrite{declaredWrite: declaredWrite{shop.Writing{Rows: &set}, fn}}
}

// run passes a write to the store, which runs it in a group or alone.
func (h *unitHarness) run(w *unitWrite) error {
	return h.store.Write(h.Context(), w.Writing, w.fn)
}

// ordering returns a write that orders a pet if the pet is available. If during is not nil, the write calls it before
// it finishes.
func (h *unitHarness) ordering(pet shop.Pet, during func()) *unitWrite {
	return declaring(shop.WriteSet{Pets: []int64{pet.ID}}, func(tx shop.WriteTx) error { return placeOrder(tx, pet.ID, during) })
}

func placeOrder(tx shop.WriteTx, petID int64, during func()) error {
	before, found, err := tx.Pet(petID)
	if err != nil {
		return err
	}
	order, held, err := tx.OpenOrder(petID)
	if err != nil {
		return err
	}
	if !found || held || before.Status != shop.Available {
		return shop.Errorf(shop.PetNotAvailable, "Found %v, %v, held by %v.", found, before, order)
	}
	now, err := tx.Now()
	if err != nil {
		return err
	}
	if _, err := tx.InsertOrder(shop.Order{PetID: petID, Status: shop.Placed, CreatedAt: now, UpdatedAt: now, HoldExpiresAt: now.Add(time.Hour)}); err != nil {
		return err
	}
	after := before
	after.Status = shop.Pending
	if during != nil {
		during()
	}
	return errors.Join(tx.UpdatePets(shop.PetUpdate{Before: before, After: after}), telling("pets/1")(tx))
}

// moving returns a write that changes the status of an order. If during is not nil, the write calls it after the
// change.
func (h *unitHarness) moving(id int64, to shop.OrderStatus, during func()) *unitWrite {
	return declaring(shop.WriteSet{Orders: []int64{id}}, func(tx shop.WriteTx) error {
		err := moveOrder(tx, id, to)
		if during != nil {
			during()
		}
		return err
	})
}

func moveOrder(tx shop.WriteTx, id int64, to shop.OrderStatus) error {
	before, found, err := tx.Order(id)
	if err != nil || !found || before.Status != shop.Placed {
		return errors.Join(err, fmt.Errorf("the order is %v %v", found, before))
	}
	after := before
	after.Status, after.HoldExpiresAt = to, time.Time{}
	return tx.UpdateOrder(before, after)
}

// commit runs writes on one unit and commits their changes, as a group does. It fails if the changes cannot be saved.
func (h *unitHarness) commit(writes ...*unitWrite) error {
	h.Helper()
	ctx := context.Background()
	conn, err := h.store.Conn(ctx)
	must(h.T, err)
	defer conn.Close()
	unit, declared := newUnit(h.store.dialect), make([]any, len(writes))
	for i, w := range writes {
		declared[i] = &w.declaredWrite
	}
	var load, save engine.Batch
	unit.Load(&load, declared)
	must(h.T, errors.Join(conn.Exec(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED"), load.Run(ctx, conn.conn)))
	for i, w := range writes {
		w.err = unit.Run(declared[i])
	}
	unit.Save(&save)
	if err := save.Run(ctx, conn.conn); err != nil {
		return err
	}
	return conn.Exec(ctx, "COMMIT")
}

// order orders a pet and returns the id of the order.
func (h *unitHarness) order(pet shop.Pet) int64 {
	h.Helper()
	w := h.ordering(pet, nil)
	must(h.T, errors.Join(h.commit(w), w.err))
	return pgtest.Value[int64](h.direct, "SELECT max(id) FROM orders")
}

func (h *unitHarness) want(want int, query string) {
	h.Helper()
	if n := pgtest.Value[int](h.direct, query); n != want {
		h.Errorf("%s: %d, want %d", query, n, want)
	}
}

func (h *unitHarness) wantAlone(what string, err error) {
	h.Helper()
	if !errors.Is(err, engine.ErrAlone) {
		h.Errorf("%s: %v, want that it has to run alone", what, err)
	}
}

// The writes on a unit see each other's changes. If a write is refused, fails after its changes or needs undeclared rows,
// only its own changes are dropped.
func TestWritesOnAUnitAreIndependent(t *testing.T) {
	t.Parallel()
	h := newUnitHarness(t, 4)
	refused := errors.New("refused at the end")
	writes := []*unitWrite{
		h.ordering(h.pets[0], nil),
		h.ordering(h.pets[0], nil),
		declaring(shop.WriteSet{Pets: []int64{h.pets[1].ID}}, func(tx shop.WriteTx) error {
			return errors.Join(placeOrder(tx, h.pets[1].ID, nil), refused)
		}),
		h.ordering(h.pets[1], nil),
		declaring(shop.WriteSet{Categories: []int64{1}}, adding("new")),
		declaring(shop.WriteSet{}, func(tx shop.WriteTx) error { return placeOrder(tx, h.pets[3].ID, nil) }),
		declaring(shop.WriteSet{Categories: []int64{2}}, adding("in an unknown category")),
		declaring(shop.WriteSet{}, func(tx shop.WriteTx) error {
			// This write ignores the error, but must not be committed.
			tx.Inventory()
			return adding("undeclared")(tx)
		}),
	}
	must(t, h.commit(writes...))
	must(t, errors.Join(writes[0].err, writes[3].err, writes[4].err))
	if shop.AsError(writes[1].err).Code != shop.PetNotAvailable || !errors.Is(writes[2].err, refused) {
		t.Errorf("the second order of a pet got %v, the write that fails %v", writes[1].err, writes[2].err)
	}
	for _, w := range writes[5:] {
		h.wantAlone("a write", w.err)
	}
	h.want(2, "SELECT count(*) FROM orders WHERE status = 'placed'")
	h.want(2, "SELECT count(*) FROM pets WHERE status = 'pending'")
	h.want(5, "SELECT count(*) FROM pets")
	h.want(2, "SELECT CAST(sum(pending) AS INTEGER) FROM "+PostgresCounts.Inventory)
}

// If another transaction has locked a pet, the writes that need this pet cannot run on the unit. They wait in transactions
// of their own. All other writes run on the unit.
func TestUnitSkipsLockedPets(t *testing.T) {
	t.Parallel()
	h := newUnitHarness(t, 2)
	other, err := h.direct.Begin()
	must(t, err)
	defer other.Rollback()
	_, err = other.Exec("UPDATE pets SET status = 'sold' WHERE id = $1", h.pets[0].ID)
	must(t, err)
	locked, free := h.ordering(h.pets[0], nil), h.ordering(h.pets[1], nil)
	must(t, errors.Join(h.commit(locked, free), free.err))
	h.wantAlone("the write that needs the locked pet", locked.err)
	var running sync.WaitGroup
	running.Go(func() { err = h.run(locked) })
	h.direct.AwaitLockWait()
	must(t, other.Commit())
	running.Wait()
	if shop.AsError(err).Code != shop.PetNotAvailable {
		t.Errorf("the order of a pet that was sold meanwhile got %v", err)
	}
}

// If rows that a unit depends on change between loading and saving, none of its changes are stored.
func TestUnitNoticesConcurrentChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		write  func(h *unitHarness, during func()) *unitWrite
		change string // a concurrent change
	}{
		"a category is deleted": {
			func(_ *unitHarness, during func()) *unitWrite {
				return declaring(shop.WriteSet{Categories: []int64{2}}, func(tx shop.WriteTx) error {
					during()
					return addingTo(2, "new")(tx)
				})
			}, "DELETE FROM categories WHERE id = 2"},
		"the same idempotency key is used": {
			func(_ *unitHarness, during func()) *unitWrite {
				w := declaring(shop.WriteSet{Categories: []int64{1}}, func(tx shop.WriteTx) error {
					if _, found, err := tx.IdempotencyRecord(0, "k"); err != nil || found {
						return errors.Join(err, fmt.Errorf("found %v", found))
					}
					during()
					return errors.Join(addingTo(1, "new")(tx), tx.PutIdempotencyRecord(0, "k", shop.IdempotencyRecord{}))
				})
				w.By.Request = &shop.IdempotentRequest{Key: "k"}
				return w
			}, "INSERT INTO idempotency_records VALUES (0, 'k', '', 201, '{}', '', 0)"},
		"an order is placed": {
			func(h *unitHarness, during func()) *unitWrite { return h.ordering(h.pets[0], during) },
			"INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES (1, 'approved', 1, 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newUnitHarness(t, 2)
			h.direct.Do("INSERT INTO categories (id) VALUES (2)")
			changed := c.write(h, func() { h.direct.Do(c.change) })
			if err := h.commit(changed, declaring(shop.WriteSet{Categories: []int64{1}}, adding("neighbour"))); err == nil {
				t.Error("the unit was saved")
			}
			h.want(2, "SELECT count(*) FROM pets")
			h.want(0, "SELECT count(*) FROM orders WHERE status IN ('placed', 'cancelled')")
		})
	}
}

// A write that runs alone locks the pet before it changes the pet's order. So if a group has locked the pet, the write
// waits for the group, and the group never has to wait for the order.
func TestPetIsLockedBeforeItsOrder(t *testing.T) {
	t.Parallel()
	h := newUnitHarness(t, 1)
	id := h.order(h.pets[0])
	var running sync.WaitGroup
	var err error
	approving := h.moving(id, shop.Approved, func() {
		running.Go(func() {
			err = h.store.Write(context.Background(), shop.Writing{}, func(tx shop.WriteTx) error { return moveOrder(tx, id, shop.Cancelled) })
		})
		h.direct.AwaitLockWait()
		h.direct.Do(fmt.Sprint("SELECT id FROM orders WHERE id = ", id, " FOR UPDATE NOWAIT"))
	})
	must(t, errors.Join(h.commit(approving), approving.err))
	if running.Wait(); err == nil {
		t.Error("an order that was approved meanwhile was cancelled as if it were placed")
	}
	h.want(1, "SELECT count(*) FROM orders WHERE status = 'approved'")
}

// If a node stops in the middle of a group, the server releases the group's locks after a timeout, and the group is
// not committed.
func TestStoppedNodeLosesItsLocks(t *testing.T) {
	t.Parallel()
	h := newUnitHarness(t, 1)
	err := h.run(h.ordering(h.pets[0], func() {
		must(t, h.run(h.ordering(h.pets[0], nil))) // this write waits until the lock is released
	}))
	if shop.AsError(err).Code != shop.PetNotAvailable {
		t.Errorf("the order of the stopped node got %v", err)
	}
	h.want(1, "SELECT count(*) FROM orders")
}
