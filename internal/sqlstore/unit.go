package sqlstore

import (
	"context"
	"slices"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

// unit is the unit of work of one transaction that several writes share. It contains the rows that these writes have
// declared in shop.Writing, and the changes of the writes that have already run. It implements engine.Unit. Only
// loading differs between the engines, see dialect.load.
type unit struct {
	dialect   *dialect
	now       time.Time
	pets      map[int64]*shop.Pet   // nil means that there is no such pet
	orders    map[int64]*shop.Order // nil means that there is no such order
	open      map[int64]int64       // the open order of each loaded pet that has one
	published map[int64]bool        // the loaded pets that are published
	// statusChanges contains the number of status changes of each pet. It is 0 for pets that were added.
	statusChanges map[int64]int64
	// prices contains the prices in the profiles of the pets for which orders are placed.
	prices     map[int64]shop.Price
	categories map[int64]*shop.Category
	records    map[recordKey]*shop.IdempotencyRecord // nil means that there is no such record
	// petIDs and orderIDs assign ids to new rows.
	petIDs, orderIDs newIDs
	unsaved          changes
}

// changes are the changes of one write, or of all writes since the unit was last saved.
type changes struct {
	addedPets   []shop.Pet
	pets        map[int64]countedPet
	addedOrders []int64
	orders      map[int64]shop.Order // orders that were added or have changed
	records     []record
	events      []event
	counts      countChanges
	touched     engine.Touched
}

// event is a new event with its time in microseconds since 1970.
type event struct {
	shop.NewEvent
	at int64
}

// recordKey identifies an idempotency record.
type recordKey struct {
	principal int64
	key       string
}

// record is a new idempotency record with its key.
type record struct {
	recordKey
	shop.IdempotencyRecord
}

// declaredWrite is a write that declares its rows.
type declaredWrite struct {
	shop.Writing
	fn func(shop.WriteTx) error
}

func newUnit(d *dialect) *unit {
	u := &unit{dialect: d}
	u.Forget()
	return u
}

// Load reads the rows that the writes have declared.
func (u *unit) Load(b *engine.Batch, writes []any) {
	declared := make([]*declaredWrite, len(writes))
	for i, w := range writes {
		declared[i] = w.(*declaredWrite)
	}
	u.dialect.load(u, b, declared)
}

// Run runs one write on the loaded rows. The write's changes are kept only if it succeeds.
func (u *unit) Run(write any) error {
	if u.dialect.clock != nil {
		u.now = u.dialect.clock()
	}
	t := &unitTx{tx: &tx{Tx: &engine.Tx{Ctx: context.Background(), Conn: undeclared{}}, dialect: u.dialect}, unit: u}
	err := t.Outcome(write.(*declaredWrite).fn(t))
	if err == nil {
		u.apply(&t.changes)
	}
	return err
}

// apply adds the changes of a write to the unit.
func (u *unit) apply(c *changes) {
	s := &u.unsaved
	for i := range c.addedPets {
		u.pets[c.addedPets[i].ID] = &c.addedPets[i]
	}
	for id, pet := range c.pets {
		u.pets[id] = &pet.Pet
		u.statusChanges[id] += pet.statusChanges
		pet.statusChanges += s.pets[id].statusChanges
		setRow(&s.pets, id, pet)
	}
	for id, order := range c.orders {
		u.setOrder(order)
		setRow(&s.orders, id, order)
	}
	for _, r := range c.records {
		u.records[r.recordKey] = &r.IdempotencyRecord
	}
	u.petIDs.use(len(c.addedPets))
	u.orderIDs.use(len(c.addedOrders))
	s.addedPets, s.addedOrders = append(s.addedPets, c.addedPets...), append(s.addedOrders, c.addedOrders...)
	s.records, s.events = append(s.records, c.records...), append(s.events, c.events...)
	s.counts.add(c.counts)
	s.touched |= c.touched
}

func (u *unit) setOrder(order shop.Order) {
	u.orders[order.ID] = &order
	if order.IsOpen() {
		u.open[order.PetID] = order.ID
	} else if u.open[order.PetID] == order.ID {
		delete(u.open, order.PetID)
	}
}

// Forget drops all rows.
func (u *unit) Forget() {
	u.pets, u.statusChanges, u.published = map[int64]*shop.Pet{}, map[int64]int64{}, map[int64]bool{}
	u.orders, u.open, u.prices = map[int64]*shop.Order{}, map[int64]int64{}, map[int64]shop.Price{}
	u.categories, u.records = map[int64]*shop.Category{}, map[recordKey]*shop.IdempotencyRecord{}
	u.petIDs, u.orderIDs = newIDs{}, newIDs{}
}

func setRow[T any](rows *map[int64]T, id int64, row T) {
	if *rows == nil {
		*rows = map[int64]T{}
	}
	(*rows)[id] = row
}

// newIDs assigns ids to the new rows of a table. On PostgreSQL, the ids have been reserved, in ascending order. On
// SQLite, they follow the last id that was assigned.
type newIDs struct {
	reserved []int64
	counted  bool
	last     int64
}

// at returns the id for the new row number n, beginning with 0. ok is false if there is none.
func (s *newIDs) at(n int) (id int64, ok bool) {
	if s.counted {
		id = s.last + 1 + int64(n)
		return id, id > 0 // after the highest id, the sum is negative
	}
	if n < len(s.reserved) {
		return s.reserved[n], true
	}
	return 0, false
}

// use removes the first n ids.
func (s *newIDs) use(n int) {
	if s.counted {
		s.last += int64(n)
	} else {
		s.reserved = s.reserved[n:]
	}
}

// reserve adds an id.
func (s *newIDs) reserve(id int64) {
	at, _ := slices.BinarySearch(s.reserved, id)
	s.reserved = slices.Insert(s.reserved, at, id)
}

// undeclared is the connection of writes that run on a unit. It refuses every statement, so that a write that needs
// more than it has declared runs alone.
type undeclared struct{}

func (undeclared) Exec(context.Context, string, []any) error { return engine.ErrAlone }

func (undeclared) Query(context.Context, string, []any) (engine.Rows, error) {
	return nil, engine.ErrAlone
}

func (undeclared) Insert(context.Context, *engine.Insertion, int, func([]any, int) []any) error {
	return engine.ErrAlone
}
