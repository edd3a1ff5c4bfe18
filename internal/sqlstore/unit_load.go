package sqlstore

import (
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
	"animalstore/internal/sqlstore/postgres"
)

// selectOpenOrder is the beginning of a query for the open order of a pet.
const selectOpenOrder = "SELECT " + orderColumns + " FROM orders WHERE status IN ('placed', 'approved') AND pet_id = "

// loadEach loads the rows of each write with statements of their own, because a statement costs little in SQLite. It
// leaves out the rows that the unit already has, because writes of the same unit may have changed them.
func loadEach(u *unit, b *engine.Batch, writes []*declaredWrite) {
	for _, w := range writes {
		if r := w.By.Request; r != nil {
			u.loadRecord(b, recordKey{r.Principal, r.Key})
		}
		for _, id := range w.Rows.Categories {
			if u.categories[id] == nil {
				engine.Query(b, scanCategory, func(c shop.Category) { u.categories[id] = &c },
					"SELECT "+categoryColumns+" FROM categories WHERE id = $1", id)
			}
			u.petIDs.count(b, "pets")
		}
		for _, id := range w.Rows.Pets {
			if _, known := u.pets[id]; !known {
				u.pets[id] = nil
				u.loadPet(b, "$1", id)
			}
			if _, known := u.prices[id]; !known {
				u.prices[id] = shop.Price{}
				engine.Query(b, scanPetPrice, u.setPrice, selectPrices+"id = $1", id)
			}
			u.orderIDs.count(b, "orders")
		}
		for _, id := range w.Rows.Orders {
			if _, known := u.orders[id]; !known {
				u.orders[id] = nil
				engine.Query(b, scanOrder, u.addOrder, "SELECT "+orderColumns+" FROM orders WHERE id = $1", id)
				u.loadPet(b, "(SELECT pet_id FROM orders WHERE id = $1)", id)
			}
		}
	}
}

func (u *unit) loadRecord(b *engine.Batch, key recordKey) {
	if _, known := u.records[key]; !known {
		u.records[key] = nil
		engine.Query(b, scanRecord, func(r shop.IdempotencyRecord) { u.records[key] = &r }, selectRecord, key.principal, key.key)
	}
}

// loadPet loads a pet and its open order. which is an SQL expression for the pet's id, with the parameter $1.
func (u *unit) loadPet(b *engine.Batch, which string, arg int64) {
	engine.Query(b, scanCountedPet, func(pet countedPet) {
		if u.pets[pet.ID] == nil {
			u.addPet(pet)
		}
	}, "SELECT "+countedPetColumns+" FROM pets WHERE id = "+which, arg)
	engine.Query(b, scanOrder, u.addOrder, selectOpenOrder+which, arg)
}

func (u *unit) setPrice(p petPrice) { u.prices[p.petID] = p.Price }

func (u *unit) addPet(pet countedPet) {
	u.pets[pet.ID] = &pet.Pet
	u.statusChanges[pet.ID] = pet.statusChanges
	if pet.published {
		u.published[pet.ID] = true
	}
}

// addOrder adds an order that was loaded, unless the unit already has it.
func (u *unit) addOrder(order shop.Order) {
	if u.orders[order.ID] == nil {
		u.setOrder(order)
	}
}

// count reads the last id of a table, unless it is known. Before the first row is inserted, sqlite_sequence has no row
// for the table.
func (s *newIDs) count(b *engine.Batch, table string) {
	if !s.counted {
		s.counted = true
		engine.Query(b, engine.ScanValue[int64], func(last int64) { s.last = last },
			"SELECT seq FROM sqlite_sequence WHERE name = $1", table)
	}
}

// declaredRows collects the rows that the writes of a group have declared.
type declaredRows struct {
	shop.WriteSet
	records recordKeys
	// categoryKeys and petKeys contain, for each declared category and pet, the idempotency key of the write that has
	// declared it. The key is empty if the write has none.
	categoryKeys, petKeys recordKeys
}

// recordKeys is a list of keys. It consists of two arrays, because these are passed to a query as parameters.
type recordKeys struct {
	principals []int64
	keys       []string
}

func (k *recordKeys) add(key recordKey) {
	k.principals, k.keys = append(k.principals, key.principal), append(k.keys, key.key)
}

func declaredBy(writes []*declaredWrite) (rows declaredRows) {
	for _, w := range writes {
		rows.Categories, rows.Pets, rows.Orders = append(rows.Categories, w.Rows.Categories...), append(rows.Pets, w.Rows.Pets...), append(rows.Orders, w.Rows.Orders...)
		var key recordKey
		if r := w.By.Request; r != nil {
			key = recordKey{r.Principal, r.Key}
			rows.records.add(key)
		}
		for range w.Rows.Categories {
			rows.categoryKeys.add(key)
		}
		for range w.Rows.Pets {
			rows.petKeys.add(key)
		}
	}
	return rows
}

// loadTogether loads the rows of all writes with statements that take arrays.
//
// The pets are locked by a statement of their own. In READ COMMITTED, each statement sees what was committed
// before it began, so the statements after the locks see every change that another transaction committed
// before it released the same locks. A statement that locked a pet and read its order at the same time could
// see the order as it was before such a change. For the same reason, the time is read last: a hold that has
// just been extended must not seem to be over.
func loadTogether(u *unit, b *engine.Batch, writes []*declaredWrite) {
	rows := declaredBy(writes)
	if len(rows.Pets)+len(rows.Orders) > 0 {
		u.lockPets(b, rows)
	}
	if len(rows.Categories) > 0 {
		engine.Query(b, scanCategory, func(c shop.Category) { u.categories[c.ID] = &c },
			"SELECT "+categoryColumns+" FROM categories WHERE id = ANY ($1)", rows.Categories)
		engine.Query(b, engine.ScanValue[int64], u.petIDs.reserve,
			"SELECT nextval('pets_id_seq') FROM "+withoutRecord+" AS new JOIN categories USING (id)",
			rows.Categories, rows.categoryKeys.principals, rows.categoryKeys.keys)
	}
	if len(rows.records.keys) > 0 {
		u.loadRecords(b, rows.records)
	}
	if u.dialect.clock == nil {
		engine.Query(b, engine.ScanValue[int64], func(at int64) { u.now = fromMicros(at) }, "SELECT "+postgres.NowMicros)
	}
}

// withoutRecord is a subquery for the declared ids whose idempotency keys have no record. A key with a record belongs
// to a repeated write, which adds no rows and so needs no new ids. No ids are reserved for writes that cannot succeed,
// so that there are no gaps.
const withoutRecord = `(SELECT id FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS TEXT[])) AS declared (id, principal, key)
	WHERE NOT EXISTS (SELECT FROM idempotency_records WHERE idempotency_records.principal = declared.principal AND idempotency_records.key = declared.key))`

// declaredPets is an SQL expression for the ids of the declared pets and of the pets of the declared orders. It is an
// array, so that PostgreSQL computes it once and then finds the rows through an index.
const declaredPets = "ANY (ARRAY(SELECT unnest(CAST($1 AS BIGINT[])) UNION ALL SELECT pet_id FROM orders WHERE id = ANY ($2)))"

// lockPets locks the declared pets and reads them and their open orders. It also reads the declared orders. Pets that
// another transaction has locked are left out, and so are their orders.
func (u *unit) lockPets(b *engine.Batch, rows declaredRows) {
	engine.Query(b, scanCountedPet, u.addPet,
		"SELECT "+countedPetColumns+" FROM pets WHERE id = "+declaredPets+" ORDER BY id FOR UPDATE SKIP LOCKED", rows.Pets, rows.Orders)
	skipped := map[int64]bool{}
	for _, id := range rows.Pets {
		u.pets[id] = nil
	}
	for _, id := range rows.Orders {
		u.orders[id] = nil
	}
	engine.Query(b, engine.ScanValue[int64], func(id int64) {
		if u.pets[id] == nil {
			skipped[id] = true
			delete(u.pets, id)
		}
	}, "SELECT id FROM pets WHERE id = "+declaredPets, rows.Pets, rows.Orders)
	add := func(order shop.Order) {
		if skipped[order.PetID] {
			delete(u.orders, order.ID)
			return
		}
		u.setOrder(order)
	}
	engine.Query(b, scanOrder, add, "SELECT "+orderColumns+" FROM orders WHERE id = ANY ($1)", rows.Orders)
	engine.Query(b, scanOrder, add, selectOpenOrder+declaredPets, rows.Pets, rows.Orders)
	for _, id := range rows.Pets {
		u.prices[id] = shop.Price{}
	}
	engine.Query(b, scanPetPrice, u.setPrice, selectPrices+"id = ANY ($1)", rows.Pets)
	engine.Query(b, engine.ScanValue[int64], u.orderIDs.reserve,
		"SELECT nextval('orders_id_seq') FROM pets WHERE id = ANY (ARRAY"+withoutRecord+") AND status = 'available'",
		rows.Pets, rows.petKeys.principals, rows.petKeys.keys)
}

// loadRecords reads the idempotency records with the wanted keys.
func (u *unit) loadRecords(b *engine.Batch, wanted recordKeys) {
	for i, key := range wanted.keys {
		u.records[recordKey{wanted.principals[i], key}] = nil
	}
	engine.Query(b, func(scan Scanner) (found record, err error) {
		found.IdempotencyRecord, err = scanRecord(func(columns ...any) error {
			return scan(append(columns, &found.principal, &found.key)...)
		})
		return found, err
	}, func(found record) { u.records[found.recordKey] = &found.IdempotencyRecord },
		"SELECT fingerprint, status, header, body, kept_at, principal, key FROM idempotency_records"+
			" WHERE (principal, key) IN (SELECT * FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS TEXT[])))", wanted.principals, wanted.keys)
}
