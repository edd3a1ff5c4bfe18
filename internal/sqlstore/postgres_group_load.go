package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/shop"
)

// postgresGroup contains the rows that the members of a group have declared, with the changes made by the members that
// have already run. Members cannot use rows that are missing from the maps.
type postgresGroup struct {
	engine     *postgresEngine
	now        time.Time
	pets       map[int64]*shop.Pet   // nil means that there is no such pet
	orders     map[int64]*shop.Order // nil means that there is no such order
	open       map[int64]int64       // the open order of each pet that has one
	categories map[int64]*shop.Category
	records    map[idempotencyKey]*shop.IdempotencyRecord
	// petIDs and orderIDs are unused ids for new rows. No ids are reserved for writes that cannot succeed, so that
	// there are no gaps.
	petIDs, orderIDs []int64

	added       batch
	newOrders   []int64 // the ids of the orders that members have placed; these orders are in orders, too
	changedPets map[int64]bool
	previous    map[int64]*shop.Order // the original state of each order that has changed
	changes     effects
}

// declared collects the rows that the members of a group have declared.
type declared struct {
	shop.WriteSet
	records idempotencyKeys
	// categoryKeys and petKeys contain, for each declared category and pet, the idempotency key of the member that
	// has declared it. The key is empty if the member has none.
	categoryKeys, petKeys idempotencyKeys
}

// idempotencyKeys is a list of idempotency keys. It consists of two arrays, because these are passed to a query as
// parameters.
type idempotencyKeys struct {
	principals []int64
	keys       []string
}

func (k *idempotencyKeys) add(key idempotencyKey) {
	k.principals, k.keys = append(k.principals, key.principal), append(k.keys, key.key)
}

func declaredBy(members []*member) (all declared) {
	for _, m := range members {
		set := m.Rows
		all.Categories, all.Pets, all.Orders = append(all.Categories, set.Categories...), append(all.Pets, set.Pets...), append(all.Orders, set.Orders...)
		var key idempotencyKey
		if r := m.By.Request; r != nil {
			key = idempotencyKey{r.Principal, r.Key}
			all.records.add(key)
		}
		for range set.Categories {
			all.categoryKeys.add(key)
		}
		for range set.Pets {
			all.petKeys.add(key)
		}
	}
	return all
}

// loadGroup begins a transaction and loads the rows that the members have declared, in one round trip.
//
// The pets are locked by a statement of their own. In READ COMMITTED, each statement sees what was committed
// before it began, so the statements after the locks see every change that another transaction committed
// before it released the same locks. A statement that locked a pet and read its order at the same time could
// see the order as it was before such a change. For the same reason, the time is read last: a hold that has
// just been extended must not seem to be over.
func (p *postgresEngine) loadGroup(ctx context.Context, conn *pgx.Conn, members []*member) (*postgresGroup, error) {
	g := &postgresGroup{
		engine: p, pets: map[int64]*shop.Pet{}, orders: map[int64]*shop.Order{}, open: map[int64]int64{},
		categories: map[int64]*shop.Category{}, records: map[idempotencyKey]*shop.IdempotencyRecord{},
		changedPets: map[int64]bool{}, previous: map[int64]*shop.Order{},
	}
	rows := declaredBy(members)
	b := &pgx.Batch{}
	b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	b.Queue(groupTimeouts)
	if len(rows.Pets)+len(rows.Orders) > 0 {
		g.loadPets(b, rows)
	}
	if len(rows.Categories) > 0 {
		queue(b, scanCategory, func(c shop.Category) { g.categories[c.ID] = &c },
			"SELECT "+categoryColumns+" FROM categories WHERE id = ANY ($1)", rows.Categories)
		queue(b, scanValue[int64], func(id int64) { g.petIDs = append(g.petIDs, id) },
			"SELECT nextval('pets_id_seq') FROM "+withoutRecord+" AS new JOIN categories USING (id)",
			rows.Categories, rows.categoryKeys.principals, rows.categoryKeys.keys)
	}
	if len(rows.records.keys) > 0 {
		g.loadRecords(b, rows.records)
	}
	queue(b, scanValue[int64], func(at int64) { g.now = fromMicros(at) }, "SELECT "+serverMicros)
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	if p.dialect.time == "" {
		g.now, _ = p.dialect.now(nil) // this clock is set only in tests and cannot fail
	}
	slices.Sort(g.petIDs)
	slices.Sort(g.orderIDs)
	return g, nil
}

// queue adds a query to a batch. found is called for each row of its result.
func queue[T any](b *pgx.Batch, scan func(Scanner) (T, error), found func(T), query string, args ...any) {
	b.Queue(query, args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			value, err := scan(rows.Scan)
			if err != nil {
				return err
			}
			found(value)
		}
		return rows.Err()
	})
}

// withoutRecord is a subquery for the declared ids whose idempotency keys have no record. A key with a record belongs
// to a repeated write, which adds no rows and so needs no new ids.
const withoutRecord = `(SELECT id FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS TEXT[])) AS declared (id, principal, key)
	WHERE NOT EXISTS (SELECT FROM kept_answers WHERE kept_answers.principal = declared.principal AND kept_answers.key = declared.key))`

// declaredPets is an SQL expression for the ids of the declared pets and of the pets of the declared orders. It is an
// array, so that PostgreSQL computes it once and then finds the rows through an index.
const declaredPets = "ANY (ARRAY(SELECT unnest(CAST($1 AS BIGINT[])) UNION ALL SELECT pet_id FROM orders WHERE id = ANY ($2)))"

// loadPets locks the declared pets and reads them and their open orders. It also reads the declared orders.
// Pets that another transaction has locked are left out, and so are their orders.
func (g *postgresGroup) loadPets(b *pgx.Batch, rows declared) {
	queue(b, scanPet, func(pet shop.Pet) { g.pets[pet.ID] = &pet },
		"SELECT "+petColumns+" FROM pets WHERE id = "+declaredPets+" ORDER BY id FOR UPDATE SKIP LOCKED", rows.Pets, rows.Orders)
	skipped := map[int64]bool{}
	for _, id := range rows.Pets {
		g.pets[id] = nil
	}
	for _, id := range rows.Orders {
		g.orders[id] = nil
	}
	queue(b, scanValue[int64], func(id int64) {
		if g.pets[id] == nil {
			skipped[id] = true
			delete(g.pets, id)
		}
	}, "SELECT id FROM pets WHERE id = "+declaredPets, rows.Pets, rows.Orders)
	add := func(order shop.Order) {
		if skipped[order.PetID] {
			delete(g.orders, order.ID)
			return
		}
		g.orders[order.ID] = &order
		if order.IsOpen() {
			g.open[order.PetID] = order.ID
		}
	}
	queue(b, scanOrder, add, "SELECT "+orderColumns+" FROM orders WHERE id = ANY ($1)", rows.Orders)
	queue(b, scanOrder, add, "SELECT "+orderColumns+" FROM orders WHERE status IN ('placed', 'approved') AND pet_id = "+declaredPets,
		rows.Pets, rows.Orders)
	queue(b, scanValue[int64], func(id int64) { g.orderIDs = append(g.orderIDs, id) },
		"SELECT nextval('orders_id_seq') FROM pets WHERE id = ANY (ARRAY"+withoutRecord+") AND status = 'available'",
		rows.Pets, rows.petKeys.principals, rows.petKeys.keys)
}

// loadRecords reads the idempotency records with the wanted keys.
func (g *postgresGroup) loadRecords(b *pgx.Batch, wanted idempotencyKeys) {
	type keyed struct {
		idempotencyKey
		shop.IdempotencyRecord
	}
	for i, key := range wanted.keys {
		g.records[idempotencyKey{wanted.principals[i], key}] = nil
	}
	queue(b, func(scan Scanner) (found keyed, err error) {
		found.IdempotencyRecord, err = scanRecord(func(columns ...any) error {
			return scan(append(columns, &found.principal, &found.key)...)
		})
		return found, err
	}, func(found keyed) { g.records[found.idempotencyKey] = &found.IdempotencyRecord },
		"SELECT fingerprint, status, header, body, kept_at, principal, key FROM kept_answers"+
			" WHERE (principal, key) IN (SELECT * FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS TEXT[])))", wanted.principals, wanted.keys)
}
