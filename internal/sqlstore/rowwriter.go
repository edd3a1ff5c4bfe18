package sqlstore

import (
	"fmt"
	"slices"

	"animalstore/internal/shop"
)

// rowWriter writes the rows that are needed to add pets, such as events and idempotency records. It serves a single
// write, and can also read rows that are still queued. For a PostgreSQL server, directWriter executes each statement
// immediately. For a SQLite file, memberWriter queues the rows, so that many writes share one statement.
type rowWriter interface {
	// insertPets gives each pet the next id and adds the pets to the counts.
	insertPets(list []shop.NewPet) ([]shop.Pet, error)
	updatePets(pets []shop.Pet) error
	insertEvents(events []shop.NewEvent) error
	// addCounts adds changes to the counts.
	addCounts(countChanges) error
	// ensureCategories creates all categories that do not exist yet and returns the ids of the new ones.
	ensureCategories(ids []int64) (created []int64, err error)
	// requireCategory returns an error if the category does not exist. It may do nothing if the engine itself notices
	// this before the commit.
	requireCategory(id int64) error
	// deleteCategory returns an error if any pets belong to the category.
	deleteCategory(id int64) error
	idempotencyRecord(principal int64, key string) (shop.IdempotencyRecord, bool, error)
	putIdempotencyRecord(principal int64, key string, record shop.IdempotencyRecord) error
	// flush inserts the queued rows. It is called before any statement that is not queued, because this
	// statement must see the queued rows. The statement may also change other rows, so memberWriter opens a
	// savepoint first.
	flush() error
}

func (t *tx) rowWriter() rowWriter {
	if t.writer == nil {
		return directWriter{t}
	}
	return t.writer
}

// directWriter executes one statement for many rows at a time, because every statement costs a round trip to the
// server.
type directWriter struct{ tx *tx }

func (directWriter) flush() error { return nil }

// requireCategory does nothing, because the server checks the foreign key when it executes a statement.
func (directWriter) requireCategory(int64) error { return nil }

// insertPets assigns the ids before it inserts the pets, because an INSERT may return its rows in any order.
func (w directWriter) insertPets(list []shop.NewPet) ([]shop.Pet, error) {
	if len(list) == 1 {
		return w.insertPet(list[0])
	}
	ids, err := all(w.tx, scanValue[int64], "SELECT nextval('pets_id_seq') FROM generate_series(1, CAST($1 AS BIGINT))", len(list))
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	pets := make([]shop.Pet, len(list))
	for i, n := range list {
		pets[i] = n.WithID(ids[i])
	}
	err = inChunks(pets, placeholders(1+petFieldCount), func(part []shop.Pet, places string) error {
		var args []any
		for _, pet := range part {
			args = appendPet(args, pet)
		}
		return w.tx.exec("INSERT INTO pets (id, "+petFields+") VALUES "+places, args...)
	})
	if err != nil {
		return nil, err
	}
	return pets, w.addNew(list)
}

func (w directWriter) insertPet(n shop.NewPet) ([]shop.Pet, error) {
	pets, err := all(w.tx, scanPet, insertPet, appendPet(nil, n.WithID(0))[1:]...)
	if err != nil {
		return nil, err
	}
	return pets, w.addNew([]shop.NewPet{n})
}

func (w directWriter) addNew(list []shop.NewPet) error {
	return w.tx.addCounts(func(changes *countChanges, period int64) {
		for _, n := range list {
			changes.addNew(period, n)
		}
	})
}

func (w directWriter) updatePets(pets []shop.Pet) error {
	if len(pets) == 1 {
		return w.updatePet(pets[0])
	}
	return inChunks(pets, petRow, func(part []shop.Pet, places string) error {
		var args []any
		for _, pet := range part {
			args = appendPet(args, pet)
		}
		return w.tx.exec(fmt.Sprintf(updatePets, "VALUES "+places), args...)
	})
}

func (w directWriter) updatePet(pet shop.Pet) error {
	return w.tx.exec(updatePet, append(appendPet(nil, pet)[1:], pet.ID)...)
}

func (w directWriter) insertEvents(events []shop.NewEvent) error {
	row, at := "("+w.tx.dialect.time+", $, $, $, $)", []any{}
	if w.tx.dialect.time == "" {
		now, err := w.tx.Now()
		if err != nil {
			return err
		}
		row, at = placeholders(5), []any{micros(now)}
	}
	return inChunks(events, row, func(part []shop.NewEvent, places string) error {
		var args []any
		for _, e := range part {
			args = appendEvent(append(args, at...), e)
		}
		return w.tx.exec("INSERT INTO "+w.tx.dialect.inbox+" ("+newEventColumns+") VALUES "+places, args...)
	})
}

func (w directWriter) ensureCategories(ids []int64) (created []int64, err error) {
	err = inChunks(ids, "($)", func(part []int64, places string) error {
		some, err := all(w.tx, scanValue[int64],
			"INSERT INTO categories (id) VALUES "+places+" ON CONFLICT (id) DO NOTHING RETURNING id", anys(part)...)
		created = append(created, some...)
		return err
	})
	slices.Sort(created)
	return created, err
}

func (w directWriter) deleteCategory(id int64) error {
	return w.tx.exec("DELETE FROM categories WHERE id = $1", id)
}

func (w directWriter) idempotencyRecord(principal int64, key string) (shop.IdempotencyRecord, bool, error) {
	return one(w.tx, scanRecord, selectRecord, principal, key)
}

func (w directWriter) putIdempotencyRecord(principal int64, key string, record shop.IdempotencyRecord) error {
	args, at := appendRecord(nil, principal, key, record), w.tx.dialect.time
	if at == "" || !record.At.IsZero() {
		if record.At.IsZero() {
			now, err := w.tx.Now()
			if err != nil {
				return err
			}
			record.At = now
		}
		at, args = "$7", append(args, micros(record.At))
	}
	return w.tx.exec("INSERT INTO kept_answers ("+recordColumns+") VALUES ($1, $2, $3, $4, $5, $6, "+at+`)
		ON CONFLICT (principal, key) DO UPDATE SET
			fingerprint = excluded.fingerprint, status = excluded.status, header = excluded.header, body = excluded.body,
			kept_at = excluded.kept_at`, args...)
}
