package sqlstore

import (
	"animalstore/internal/shop"
)

// batch contains new rows that are waiting to be inserted together. Inserting them one by one took three times as
// long.
type batch struct {
	pets    []shop.Pet
	events  []queuedEvent
	records []queuedRecord
	counts  countChanges
}

// queuedEvent is an event with its time in microseconds since 1970.
type queuedEvent struct {
	shop.NewEvent
	at int64
}

// queuedRecord is an idempotency record with its key.
type queuedRecord struct {
	idempotencyKey
	shop.IdempotencyRecord
}

// appendQueuedEvent appends the event's values to args, one for each of newEventColumns.
func appendQueuedEvent(args []any, e queuedEvent) []any {
	return appendEvent(append(args, e.at), e.NewEvent)
}

// appendQueuedRecord appends the record's values to args, one for each of recordColumns.
func appendQueuedRecord(args []any, r queuedRecord) []any {
	return append(appendRecord(args, r.principal, r.key, r.IdempotencyRecord), micros(r.At))
}

// maxQueued is the number of pets and events that one member of a write group may queue before they are inserted. It
// bounds the memory that a large import needs.
const maxQueued = 2_000

func (b *batch) isEmpty() bool { return len(b.pets)+len(b.events)+len(b.records)+len(b.counts) == 0 }

func (b *batch) isFull() bool { return len(b.pets)+len(b.events) > maxQueued }

// record returns the queued idempotency record with the given key and whether there is one.
func (b *batch) record(key idempotencyKey) (shop.IdempotencyRecord, bool) {
	for _, r := range b.records {
		if r.idempotencyKey == key {
			return r.IdempotencyRecord, true
		}
	}
	return shop.IdempotencyRecord{}, false
}

// take moves all rows from another batch to this one.
func (b *batch) take(other *batch) {
	b.pets, b.events, b.records = append(b.pets, other.pets...), append(b.events, other.events...), append(b.records, other.records...)
	b.counts.add(other.counts)
	other.clear()
}

func (b *batch) clear() {
	clear(b.pets) // so that the reused arrays do not keep strings alive
	clear(b.events)
	clear(b.records)
	clear(b.counts)
	b.pets, b.events, b.records = b.pets[:0], b.events[:0], b.records[:0]
}
