package sqlstore

import (
	"slices"
	"time"

	"animalstore/internal/shop"
)

// groupTx is the write transaction of one member of a postgresGroup. It works on the rows in memory. If the member uses
// a row that it has not declared, it fails with errUngrouped. The methods here check this. All other methods are those
// of tx and execute statements, which ungroupedRunner refuses.
type groupTx struct {
	*tx
	group     *postgresGroup
	added     batch
	pets      map[int64]shop.Pet   // the pets that the member has changed
	orders    map[int64]shop.Order // the orders that the member has changed or placed
	newOrders []int64
}

func (t *groupTx) Now() (time.Time, error) { return t.group.now, t.failed }

func (t *groupTx) Pet(id int64) (shop.Pet, bool, error) {
	if pet, changed := t.pets[id]; changed {
		return pet, true, t.failed
	}
	pet, declared := t.group.pets[id]
	if !declared {
		return shop.Pet{}, false, t.fail(errUngrouped)
	}
	if pet == nil {
		return shop.Pet{}, false, t.failed
	}
	return *pet, true, t.failed
}

func (t *groupTx) Order(id int64) (shop.Order, bool, error) {
	if order, changed := t.orders[id]; changed {
		return order, true, t.failed
	}
	order, declared := t.group.orders[id]
	if !declared {
		return shop.Order{}, false, t.fail(errUngrouped)
	}
	if order == nil {
		return shop.Order{}, false, t.failed
	}
	return *order, true, t.failed
}

func (t *groupTx) OpenOrder(petID int64) (shop.Order, bool, error) {
	if _, _, err := t.Pet(petID); err != nil {
		return shop.Order{}, false, err
	}
	for _, order := range t.orders {
		if order.PetID == petID && order.IsOpen() {
			return order, true, t.failed
		}
	}
	id, held := t.group.open[petID]
	if _, changed := t.orders[id]; !held || changed {
		return shop.Order{}, false, t.failed
	}
	return t.Order(id)
}

func (t *groupTx) Category(id int64) (shop.Category, bool, error) {
	category, found := t.group.categories[id]
	// Another node may have created the category since the group was loaded.
	if !found {
		return shop.Category{}, false, t.fail(errUngrouped)
	}
	return *category, true, t.failed
}

// EnsureCategories fails with errUngrouped if a category is missing. Groups do not create categories, because two
// groups that did could deadlock.
func (t *groupTx) EnsureCategories(ids ...int64) (created []int64, err error) {
	for _, id := range ids {
		if _, _, err := t.Category(id); err != nil {
			return nil, err
		}
	}
	return nil, t.failed
}

func (t *groupTx) InsertPets(list ...shop.NewPet) ([]shop.Pet, error) {
	if len(t.group.petIDs) < len(list) {
		return nil, t.fail(errUngrouped)
	}
	t.catalog = true
	pets := make([]shop.Pet, len(list))
	for i, n := range list {
		if _, _, err := t.Category(n.CategoryID); err != nil {
			return nil, err
		}
		pets[i] = n.WithID(t.group.petIDs[0])
		t.group.petIDs = t.group.petIDs[1:]
		t.added.counts.addNew(periodOf(t.group.now), n)
	}
	t.added.pets = append(t.added.pets, pets...)
	return pets, t.failed
}

func (t *groupTx) UpdatePets(updates ...shop.PetUpdate) error {
	t.catalog = true
	for _, u := range updates {
		if _, found, err := t.Pet(u.After.ID); err != nil || !found || u.Before.CategoryID != u.After.CategoryID {
			return t.fail(errUngrouped)
		}
		t.pets[u.After.ID] = u.After
		t.added.counts.addUpdate(periodOf(t.group.now), u)
	}
	return t.failed
}

func (t *groupTx) InsertOrder(order shop.Order) (shop.Order, error) {
	if _, _, err := t.Pet(order.PetID); err != nil || len(t.group.orderIDs) == 0 {
		return shop.Order{}, t.fail(errUngrouped)
	}
	t.tx.effects.orders = true
	order.ID = t.group.orderIDs[0]
	t.group.orderIDs = t.group.orderIDs[1:]
	t.orders[order.ID] = order
	t.newOrders = append(t.newOrders, order.ID)
	return order, t.failed
}

// UpdateOrder fails unless the group has locked the order's pet, because only this lock prevents concurrent changes.
func (t *groupTx) UpdateOrder(_, after shop.Order) error {
	if _, found, err := t.Pet(after.PetID); err != nil || !found {
		return t.fail(errUngrouped)
	}
	t.tx.effects.orders = true
	t.orders[after.ID] = after
	return t.failed
}

func (t *groupTx) InsertEvents(events ...shop.NewEvent) error {
	for _, e := range events {
		t.added.events = append(t.added.events, queuedEvent{e, micros(t.group.now)})
	}
	return t.failed
}

func (t *groupTx) IdempotencyRecord(principal int64, key string) (shop.IdempotencyRecord, bool, error) {
	record, declared := t.group.records[idempotencyKey{principal, key}]
	if !declared {
		return shop.IdempotencyRecord{}, false, t.fail(errUngrouped)
	}
	if record == nil {
		return shop.IdempotencyRecord{}, false, t.failed
	}
	return *record, true, t.failed
}

// PutIdempotencyRecord only adds records. A member that replaces an expired record runs in a transaction of its own. If
// another node adds a record with the same key before the group is committed, the group fails. The member then runs
// again and finds this record.
func (t *groupTx) PutIdempotencyRecord(principal int64, key string, record shop.IdempotencyRecord) error {
	if _, found, err := t.IdempotencyRecord(principal, key); err != nil || found {
		return t.fail(errUngrouped)
	}
	if record.At.IsZero() {
		record.At = t.group.now
	}
	t.added.records = append(t.added.records, queuedRecord{idempotencyKey{principal, key}, record})
	return t.failed
}

// apply adds the changes of a member to the group.
func (g *postgresGroup) apply(t *groupTx) {
	for id, pet := range t.pets {
		g.pets[id], g.changedPets[id] = &pet, true
	}
	for id, order := range t.orders {
		if loaded := g.orders[id]; loaded != nil && g.previous[id] == nil && !slices.Contains(g.newOrders, id) {
			g.previous[id] = loaded
		}
		g.orders[id] = &order
		if order.IsOpen() {
			g.open[order.PetID] = id
		} else if g.open[order.PetID] == id {
			delete(g.open, order.PetID)
		}
	}
	g.newOrders = append(g.newOrders, t.newOrders...)
	for _, r := range t.added.records {
		g.records[r.idempotencyKey] = &r.IdempotencyRecord
	}
	g.added.take(&t.added)
	g.changes.add(t.tx.effects)
}
