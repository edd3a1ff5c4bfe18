package sqlstore

import (
	"cmp"
	"maps"
	"slices"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

// Save writes the changes of all writes since the last call. The statements are in the same order for all units, and
// their rows are sorted, so that two groups on PostgreSQL wait for each other but do not deadlock.
func (u *unit) Save(b *engine.Batch) engine.Touched {
	c := u.unsaved
	u.unsaved = changes{}
	added := make([]shop.Order, len(c.addedOrders))
	for i, id := range c.addedOrders {
		added[i] = c.orders[id]
		delete(c.orders, id)
	}
	u.dialect.insertPets(b, c.addedPets)
	u.dialect.updatePets(b, sortedRows(c.pets))
	u.dialect.updateOrders(b, sortedRows(c.orders))
	b.Insert(orderInsertion, len(added), func(args []any, row int) []any {
		o := added[row]
		return appendOrderFields(append(args, o.ID, o.PetID, micros(o.CreatedAt)), o)
	})
	u.dialect.addCounts(b, c.counts)
	slices.SortFunc(c.records, func(x, y record) int {
		return cmp.Or(cmp.Compare(x.principal, y.principal), cmp.Compare(x.key, y.key))
	})
	b.Insert(recordInsertion, len(c.records), func(args []any, row int) []any {
		r := &c.records[row]
		return append(appendRecord(args, r.principal, r.key, r.IdempotencyRecord), micros(r.At))
	})
	b.Insert(u.dialect.eventInsertion, len(c.events), func(args []any, row int) []any {
		return appendEvent(append(args, c.events[row].at), c.events[row].NewEvent)
	})
	return c.touched
}

// sortedRows returns rows in the order of their ids.
func sortedRows[T any](rows map[int64]T) []T {
	list := make([]T, 0, len(rows))
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, rows[id])
	}
	return list
}

var _ engine.Unit = (*unit)(nil)
var _ shop.WriteTx = (*unitTx)(nil)
