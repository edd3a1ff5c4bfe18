package sqlstore

import (
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

// unitTx is the transaction of one write on a unit. It works on the rows in memory. If the write uses a row that it has
// not declared, it fails with engine.ErrAlone. The methods here check this. All other methods are those of tx and
// execute statements, which fail with the same error.
type unitTx struct {
	*tx
	unit    *unit
	changes changes
}

func (t *unitTx) Now() (time.Time, error) { return t.unit.now, t.Failed() }

func (t *unitTx) alone() error { return t.Fail(engine.ErrAlone) }

func (t *unitTx) Pet(id int64) (shop.Pet, bool, error) {
	if pet, changed := t.changes.pets[id]; changed {
		return pet.Pet, true, t.Failed()
	}
	pet, declared := t.unit.pets[id]
	if !declared {
		return shop.Pet{}, false, t.alone()
	}
	if pet == nil {
		return shop.Pet{}, false, t.Failed()
	}
	return *pet, true, t.Failed()
}

func (t *unitTx) StatusChanges(id int64) (int64, error) {
	if _, _, err := t.Pet(id); err != nil {
		return 0, err
	}
	return t.unit.statusChanges[id] + t.changes.pets[id].statusChanges, t.Failed()
}

func (t *unitTx) Order(id int64) (shop.Order, bool, error) {
	if order, changed := t.changes.orders[id]; changed {
		return order, true, t.Failed()
	}
	order, declared := t.unit.orders[id]
	if !declared {
		return shop.Order{}, false, t.alone()
	}
	if order == nil {
		return shop.Order{}, false, t.Failed()
	}
	return *order, true, t.Failed()
}

func (t *unitTx) OpenOrder(petID int64) (shop.Order, bool, error) {
	if _, _, err := t.Pet(petID); err != nil {
		return shop.Order{}, false, err
	}
	for _, order := range t.changes.orders {
		if order.PetID == petID && order.IsOpen() {
			return order, true, t.Failed()
		}
	}
	id, held := t.unit.open[petID]
	if _, changed := t.changes.orders[id]; !held || changed {
		return shop.Order{}, false, t.Failed()
	}
	return t.Order(id)
}

func (t *unitTx) Price(petID int64) (shop.Price, error) {
	price, declared := t.unit.prices[petID]
	if !declared {
		return price, t.alone()
	}
	return price, t.Failed()
}

func (t *unitTx) Category(id int64) (shop.Category, bool, error) {
	category, found := t.unit.categories[id]
	// Another node may have created the category since the unit was loaded.
	if !found {
		return shop.Category{}, false, t.alone()
	}
	return *category, true, t.Failed()
}

// EnsureCategories fails with engine.ErrAlone if a category is missing. Units do not create categories, because two
// groups on PostgreSQL that did could deadlock.
func (t *unitTx) EnsureCategories(ids ...int64) (created []int64, err error) {
	for _, id := range ids {
		if _, _, err := t.Category(id); err != nil {
			return nil, err
		}
	}
	return nil, t.Failed()
}

func (t *unitTx) InsertPets(list ...shop.NewPet) ([]shop.Pet, error) {
	pets := make([]shop.Pet, len(list))
	for i, n := range list {
		id, ok := t.unit.petIDs.at(len(t.changes.addedPets) + i)
		if _, _, err := t.Category(n.CategoryID); err != nil || !ok {
			return nil, t.alone()
		}
		pets[i] = n.WithID(id)
		t.changes.counts.addNew(periodOf(t.unit.now), n)
	}
	t.changes.touched |= touchedCatalog
	t.changes.addedPets = append(t.changes.addedPets, pets...)
	return pets, t.Failed()
}

func (t *unitTx) UpdatePets(updates ...shop.PetUpdate) error {
	t.changes.touched |= touchedCatalog
	for _, u := range updates {
		if _, found, err := t.Pet(u.After.ID); err != nil || !found || u.Before.CategoryID != u.After.CategoryID {
			return t.alone()
		}
		setRow(&t.changes.pets, u.After.ID, countedPet{Pet: u.After, statusChanges: t.changes.pets[u.After.ID].statusChanges + statusChanges(u)})
		t.touchWindow(u.After.ID)
		t.changes.counts.addUpdate(periodOf(t.unit.now), u)
	}
	return t.Failed()
}

// touchWindow records that the write may change what the shop window shows of a pet.
func (t *unitTx) touchWindow(petID int64) {
	if t.unit.published[petID] {
		t.changes.touched |= touchedWindow
	}
}

func (t *unitTx) InsertOrder(order shop.Order) (shop.Order, error) {
	id, ok := t.unit.orderIDs.at(len(t.changes.addedOrders))
	if _, _, err := t.Pet(order.PetID); err != nil || !ok {
		return shop.Order{}, t.alone()
	}
	order.ID = id
	t.changes.touched |= touchedOrders
	t.touchWindow(order.PetID)
	t.changes.addedOrders = append(t.changes.addedOrders, id)
	setRow(&t.changes.orders, id, order)
	return order, t.Failed()
}

// UpdateOrder fails unless the unit has loaded the order's pet. On PostgreSQL, the pet is locked, and only this lock
// prevents concurrent changes.
func (t *unitTx) UpdateOrder(_, after shop.Order) error {
	if _, found, err := t.Pet(after.PetID); err != nil || !found {
		return t.alone()
	}
	t.touchWindow(after.PetID)
	t.changes.touched |= touchedOrders
	setRow(&t.changes.orders, after.ID, after)
	return t.Failed()
}

func (t *unitTx) InsertEvents(events ...shop.NewEvent) error {
	for _, e := range events {
		t.changes.events = append(t.changes.events, event{e, micros(t.unit.now)})
	}
	return t.Failed()
}

func (t *unitTx) IdempotencyRecord(principal int64, key string) (shop.IdempotencyRecord, bool, error) {
	found, declared := t.unit.records[recordKey{principal, key}]
	if !declared {
		return shop.IdempotencyRecord{}, false, t.alone()
	}
	if found == nil {
		return shop.IdempotencyRecord{}, false, t.Failed()
	}
	return *found, true, t.Failed()
}

// PutIdempotencyRecord only adds records. A write that replaces an expired record runs alone. If another node adds a
// record with the same key before the group is committed, the group fails. The write then runs alone and finds this
// record.
func (t *unitTx) PutIdempotencyRecord(principal int64, key string, r shop.IdempotencyRecord) error {
	if _, found, err := t.IdempotencyRecord(principal, key); err != nil || found {
		return t.alone()
	}
	if r.At.IsZero() {
		r.At = t.unit.now
	}
	t.changes.records = append(t.changes.records, record{recordKey{principal, key}, r})
	return t.Failed()
}
