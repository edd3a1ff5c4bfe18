package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/shop"
)

// orderUpdate is an order before and after a group has changed it.
type orderUpdate struct{ before, after shop.Order }

// The statements of postgresGroup.save.
var (
	insertGroupPets    = insertRows("pets", "id, "+petFields, petTypes)
	updateGroupPets    = fmt.Sprintf(updatePets, "SELECT * FROM "+unnest(petTypes))
	insertGroupOrders  = insertRows("orders", orderColumns, orderTypes)
	insertGroupEvents  = insertRows("event_inbox", newEventColumns, eventTypes)
	insertGroupRecords = insertRows("kept_answers", recordColumns, recordTypes)
	insertGroupCounts  = insertRows("pet_count_changes", countChangeColumns, countChangeTypes)

	eventTypes  = []string{"BIGINT", "TEXT", "TEXT", "TEXT", "TEXT"}
	recordTypes = []string{"BIGINT", "TEXT", "BYTEA", "BIGINT", "TEXT", "BYTEA", "BIGINT"}
	updateTypes = append(slices.Clone(orderTypes), "TEXT", "BIGINT")
	// updateGroupOrders fails with a division by zero if an order has changed since the group read it. This can
	// happen, because nodes of version 1.0 change orders without locking the pet.
	updateGroupOrders = `
		WITH updated AS (
			UPDATE orders SET status = new.status, reference = new.reference, updated_at = new.updated_at, hold_expires_at = new.hold_expires_at
			FROM ` + unnest(updateTypes) + ` AS new (` + orderColumns + `, status_before, updated_before)
			WHERE orders.id = new.id AND orders.status = status_before AND orders.updated_at = updated_before
			RETURNING orders.id
		) SELECT 1 / CAST(count(*) = cardinality(CAST($1 AS BIGINT[])) AS INTEGER) FROM updated`
)

// save writes the changes of all members and commits the transaction, in one round trip. If one of the statements
// fails, the server does not execute the COMMIT. The statements are in the same order for all groups, and their rows
// are sorted, so that groups wait for each other but do not deadlock.
func (g *postgresGroup) save(ctx context.Context, conn *pgx.Conn, commitID []byte) error {
	b := &pgx.Batch{}
	queueRows(b, insertGroupPets, petTypes, g.added.pets, appendPet)
	var pets []shop.Pet
	for _, id := range slices.Sorted(maps.Keys(g.changedPets)) {
		pets = append(pets, *g.pets[id])
	}
	queueRows(b, updateGroupPets, petTypes, pets, appendPet)
	var updates []orderUpdate
	for _, id := range slices.Sorted(maps.Keys(g.previous)) {
		updates = append(updates, orderUpdate{*g.previous[id], *g.orders[id]})
	}
	queueRows(b, updateGroupOrders, updateTypes, updates, func(args []any, u orderUpdate) []any {
		return append(appendOrder(args, u.after), string(u.before.Status), micros(u.before.UpdatedAt))
	})
	var orders []shop.Order
	for _, id := range g.newOrders {
		orders = append(orders, *g.orders[id])
	}
	queueRows(b, insertGroupOrders, orderTypes, orders, appendOrder)
	queueRows(b, insertGroupCounts, countChangeTypes, g.added.counts.rows(), appendCountRow)
	slices.SortFunc(g.added.records, func(x, y queuedRecord) int {
		return cmp.Or(cmp.Compare(x.principal, y.principal), cmp.Compare(x.key, y.key))
	})
	queueRows(b, insertGroupRecords, recordTypes, g.added.records, appendQueuedRecord)
	queueRows(b, insertGroupEvents, eventTypes, g.added.events, appendQueuedEvent)
	// A group that writes nothing needs no commit id, because it does not matter whether it is committed.
	if b.Len() > 0 {
		b.Queue(insertCommit, commitID)
	}
	b.Queue("COMMIT")
	return conn.SendBatch(ctx, b).Close()
}

// queueRows adds a statement for a list of rows to a batch, unless the list is empty.
func queueRows[T any](b *pgx.Batch, statement string, types []string, rows []T, appendRow func(args []any, row T) []any) {
	if len(rows) > 0 {
		b.Queue(statement, arrays(types, rows, appendRow)...)
	}
}
