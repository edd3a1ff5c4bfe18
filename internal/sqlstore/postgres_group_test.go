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
)

// groupHarness runs groups with the members that a test chooses. The functions of the members run between the two
// round trips of a group, so a test can make other transactions happen at that time.
type groupHarness struct {
	*testing.T
	store    *Store
	database string
	direct   *pgtest.DB
	pets     []shop.Pet // available pets in category 1
}

func newGroupHarness(t *testing.T, pets int) *groupHarness {
	t.Helper()
	database := newDatabase(t)
	h := &groupHarness{
		T: t, store: open(t, database, Options{RetryBudget: ample}), database: database, direct: pgtest.Connect(t, database),
	}
	write(t, h.store, func(tx shop.WriteTx) (err error) {
		if _, err := tx.EnsureCategories(1); err != nil {
			return err
		}
		h.pets, err = tx.InsertPets(slices.Repeat([]shop.NewPet{{Name: "Rex", CategoryID: 1, Status: shop.Available}}, pets)...)
		return err
	})
	return h
}

// groupMember returns a member that runs fn and declares the rows in set.
func groupMember(set shop.WriteSet, fn func(shop.WriteTx) error) *member {
	return &member{ctx: context.Background(), Writing: shop.Writing{Rows: &set}, fn: fn, done: make(chan struct{})}
}

// ordering returns a member that orders a pet if the pet is available. If during is not nil, the member calls it before
// it finishes.
func (h *groupHarness) ordering(pet shop.Pet, during func()) *member {
	return groupMember(shop.WriteSet{Pets: []int64{pet.ID}}, func(tx shop.WriteTx) error { return placeOrder(tx, pet.ID, during) })
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

// moving returns a member that changes the status of an order. If during is not nil, the member calls it after the
// change.
func (h *groupHarness) moving(id int64, to shop.OrderStatus, during func()) *member {
	return groupMember(shop.WriteSet{Orders: []int64{id}}, func(tx shop.WriteTx) error {
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

func (h *groupHarness) commit(members ...*member) error {
	_, err := postgresOf(h.store).commitGroup(members)
	return err
}

// order orders a pet and returns the id of the order.
func (h *groupHarness) order(pet shop.Pet) int64 {
	h.Helper()
	m := h.ordering(pet, nil)
	must(h.T, errors.Join(h.commit(m), m.err))
	return pgtest.Value[int64](h.direct, "SELECT max(id) FROM orders")
}

func (h *groupHarness) want(want int, query string) {
	h.Helper()
	if n := pgtest.Value[int](h.direct, query); n != want {
		h.Errorf("%s: %d, want %d", query, n, want)
	}
}

func (h *groupHarness) wantUngrouped(what string, err error) {
	h.Helper()
	if !errors.Is(err, errUngrouped) {
		h.Errorf("%s: %v, want that it cannot run in a group", what, err)
	}
}

// The members of a group see each other's changes. If a member is refused, fails after its changes, panics or needs
// undeclared rows, only its own changes are dropped.
func TestGroupMembersAreIndependent(t *testing.T) {
	t.Parallel()
	h := newGroupHarness(t, 4)
	refused := errors.New("refused at the end")
	creating := groupMember(shop.WriteSet{Categories: []int64{1}}, adding("new"))
	members := []*member{
		h.ordering(h.pets[0], nil),
		h.ordering(h.pets[0], nil),
		groupMember(shop.WriteSet{Pets: []int64{h.pets[1].ID}}, func(tx shop.WriteTx) error {
			return errors.Join(placeOrder(tx, h.pets[1].ID, nil), refused)
		}),
		h.ordering(h.pets[1], nil),
		h.ordering(h.pets[2], func() { panic("a bug") }),
		creating,
		groupMember(shop.WriteSet{}, func(tx shop.WriteTx) error { return placeOrder(tx, h.pets[3].ID, nil) }),
		groupMember(shop.WriteSet{Categories: []int64{2}}, adding("in an unknown category")),
		groupMember(shop.WriteSet{}, func(tx shop.WriteTx) error {
			// This member ignores the error, but must not be committed.
			tx.Inventory()
			return adding("undeclared")(tx)
		}),
	}
	must(t, h.commit(members...))
	must(t, errors.Join(members[0].err, members[3].err, members[5].err))
	if shop.AsError(members[1].err).Code != shop.PetNotAvailable || !errors.Is(members[2].err, refused) || members[4].panic == nil {
		t.Errorf("the second order of a pet got %v, the member that fails %v, the one that panics %v", members[1].err, members[2].err, members[4].panic)
	}
	for _, m := range members[6:] {
		h.wantUngrouped("a member", m.err)
	}
	h.want(2, "SELECT count(*) FROM orders WHERE status = 'placed'")
	h.want(2, "SELECT count(*) FROM pets WHERE status = 'pending'")
	h.want(5, "SELECT count(*) FROM pets")
	h.want(2, "SELECT CAST(sum(pending) AS INTEGER) FROM "+PostgresCounts.Inventory)
	h.want(1, "SELECT count(*) FROM commits WHERE id NOT IN (SELECT id FROM commits ORDER BY at LIMIT 1)")
}

// If another transaction has locked a pet, the members that need this pet cannot run in the group. They wait in
// transactions of their own. All other members run in the group.
func TestGroupSkipsLockedPets(t *testing.T) {
	t.Parallel()
	h := newGroupHarness(t, 2)
	other, err := h.direct.Begin()
	must(t, err)
	defer other.Rollback()
	_, err = other.Exec("UPDATE pets SET status = 'sold' WHERE id = $1", h.pets[0].ID)
	must(t, err)
	locked, free := h.ordering(h.pets[0], nil), h.ordering(h.pets[1], nil)
	must(t, errors.Join(h.commit(locked, free), free.err))
	h.wantUngrouped("the member that needs the locked pet", locked.err)
	var running sync.WaitGroup
	running.Go(func() { err = h.store.Write(locked.ctx, locked.Writing, locked.fn) })
	h.direct.AwaitLockWait()
	must(t, other.Commit())
	running.Wait()
	if shop.AsError(err).Code != shop.PetNotAvailable {
		t.Errorf("the order of a pet that was sold meanwhile got %v", err)
	}
}

// If rows that a group depends on change between its round trips, none of the group's changes are stored. Its members
// then run in transactions of their own and see the new rows.
func TestGroupNoticesConcurrentChanges(t *testing.T) {
	t.Parallel()
	request := &shop.IdempotentRequest{Key: "k"}
	for name, c := range map[string]struct {
		member func(h *groupHarness, during func()) *member
		change string // a concurrent change by a node of any version
	}{
		"a category is deleted": {
			func(_ *groupHarness, during func()) *member {
				return groupMember(shop.WriteSet{Categories: []int64{2}}, func(tx shop.WriteTx) error {
					during()
					return addingTo(2, "new")(tx)
				})
			}, "DELETE FROM categories WHERE id = 2"},
		"the same idempotency key is used": {
			func(_ *groupHarness, during func()) *member {
				m := groupMember(shop.WriteSet{Categories: []int64{1}}, func(tx shop.WriteTx) error {
					if _, found, err := tx.IdempotencyRecord(0, "k"); err != nil || found {
						return errors.Join(err, fmt.Errorf("found %v", found))
					}
					during()
					return errors.Join(addingTo(1, "new")(tx), tx.PutIdempotencyRecord(0, "k", shop.IdempotencyRecord{}))
				})
				m.By.Request = request
				return m
			}, "INSERT INTO kept_answers VALUES (0, 'k', '', 201, '{}', '', 0)"},
		// A node of version 1.0 approves an order without locking the pet.
		"an order is approved": {
			func(h *groupHarness, during func()) *member {
				return h.moving(h.order(h.pets[0]), shop.Cancelled, during)
			},
			"UPDATE orders SET status = 'approved', hold_expires_at = NULL, updated_at = updated_at + 1"},
		"an order is placed": {
			func(h *groupHarness, during func()) *member { return h.ordering(h.pets[0], during) },
			"INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES (1, 'approved', 1, 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newGroupHarness(t, 2)
			h.direct.Do("INSERT INTO categories (id) VALUES (2)")
			changed := c.member(h, func() { h.direct.Do(c.change) })
			neighbour := groupMember(shop.WriteSet{Categories: []int64{1}}, adding("neighbour"))
			h.wantUngrouped("the group", h.commit(changed, neighbour))
			h.want(2, "SELECT count(*) FROM pets")
			h.want(0, "SELECT count(*) FROM orders WHERE status IN ('placed', 'cancelled')")
			must(t, h.store.Write(neighbour.ctx, neighbour.Writing, neighbour.fn))
			h.want(3, "SELECT count(*) FROM pets")
		})
	}
}

// A write outside of groups locks the pet before it changes the pet's order. So if a group has locked the pet, the
// write waits for the group, and the group never has to wait for the order.
func TestPetIsLockedBeforeItsOrder(t *testing.T) {
	t.Parallel()
	h := newGroupHarness(t, 1)
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

// The connection breaks while a group is being committed, before or after the server has received the pipeline with the
// COMMIT. The group is reported as committed only if it was. A pipeline that the server receives late fails, because
// resolveCommit has reserved the id of the commit.
func TestLostCommitOfAGroupIsDoneOnce(t *testing.T) {
	t.Parallel()
	for name, set := range pgtest.LostCommits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newGroupHarness(t, 2)
			proxied := newFaultHarness(t, h.database)
			proxied.setBudget(ample)
			disconnected, release := set(proxied.proxy, pgtest.IsCommit)
			_, err := postgresOf(proxied.store).commitGroup([]*member{h.ordering(h.pets[0], nil), h.ordering(h.pets[1], nil)})
			pgtest.AwaitSignal(t, "a COMMIT", disconnected)
			release()
			h.direct.AwaitNoTransaction()
			if name == "after" {
				must(t, err)
				h.want(2, "SELECT count(*) FROM orders")
				return
			}
			h.wantUngrouped("the group", err)
			h.want(0, "SELECT count(*) FROM orders")
		})
	}
}

// If a node stops in the middle of a group, the server releases the group's locks after a timeout, and the group is
// not committed.
func TestStoppedNodeLosesItsLocks(t *testing.T) {
	t.Parallel()
	h := newGroupHarness(t, 1)
	stopped := h.ordering(h.pets[0], func() {
		m := h.ordering(h.pets[0], nil)
		must(t, h.store.Write(m.ctx, m.Writing, m.fn)) // this write waits until the lock is released
	})
	h.wantUngrouped("the group", h.commit(stopped))
	h.want(1, "SELECT count(*) FROM orders")
}

// A write that is waiting for a group fails when its retry budget is spent, even if the groups before it are stuck. A
// write that a group could not run gets no second budget. Neither of these writes is done later.
func TestGroupsKeepToTheRetryBudget(t *testing.T) {
	t.Parallel()
	h := newGroupHarness(t, 2)
	// begun is buffered, because a write may begin more than once on a busy machine.
	begun, release := make(chan struct{}, 2*pgMaxConns), make(chan struct{})
	var running sync.WaitGroup
	for _, pet := range h.pets {
		m := h.ordering(pet, func() {
			begun <- struct{}{}
			<-release
		})
		running.Go(func() {
			if err := h.store.Write(m.ctx, m.Writing, m.fn); err != nil {
				t.Error(err)
			}
		})
		<-begun // now that this write has begun, the next one needs another group
	}
	p := postgresOf(h.store)
	p.retryBudget = shortBudget
	err := h.store.Write(context.Background(), inCategoryOne, adding("too late"))
	if wantUnavailable(t, "a write behind groups that are stuck", err); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write behind groups that are stuck: %v", err)
	}
	close(release)
	running.Wait()
	runs := 0
	wantUnavailable(t, "a slow write that a group cannot run", h.store.Write(context.Background(), inCategoryOne, func(tx shop.WriteTx) error {
		if runs++; runs == 1 {
			time.Sleep(p.retryBudget)
		}
		return addingTo(2, "undeclared")(tx)
	}))
	h.want(2, "SELECT count(*) FROM pets")
}
