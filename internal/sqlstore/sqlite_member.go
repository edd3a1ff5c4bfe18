package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"

	"animalstore/internal/shop"
)

// memberWriter is the rowWriter for one member of a group. It queues new rows in the group.
//
// memberWriter looks up three kinds of rows without flushing the queue: categories and the last pet id, which are
// never queued, and idempotency records, for which it searches the queue first. So a write that only adds rows
// executes no statements except these lookups. All members of a group share the results for categories and for the
// last pet id.
type memberWriter struct {
	tx    *tx
	group *group
	saved bool // whether the member's savepoint is open
	// absent is the last idempotency key that the member has looked up and not found. A record with this key
	// replaces no other one, so it can be queued.
	absent idempotencyKey
}

type idempotencyKey struct {
	principal int64
	key       string
}

// flush inserts the rows that earlier members have queued and opens a savepoint for this member. Then it inserts the
// rows that this member has queued. So a rollback to the savepoint undoes only this member's changes.
func (w *memberWriter) flush() error {
	g := w.group
	g.lastPet = 0 // the next statement may itself insert pets
	if !w.saved {
		if err := g.insert(&g.queued); err != nil {
			return err
		}
		if err := g.exec("SAVEPOINT member"); err != nil {
			return err
		}
		w.saved = true
	}
	return g.insert(&g.current)
}

func (w *memberWriter) insertPets(list []shop.NewPet) ([]shop.Pet, error) {
	now, err := w.tx.Now()
	if err != nil {
		return nil, err
	}
	pets := make([]shop.Pet, len(list))
	for i, n := range list {
		if err := w.requireCategory(n.CategoryID); err != nil {
			return nil, err
		}
		id, err := w.nextPetID()
		if err != nil {
			return nil, w.tx.fail(err)
		}
		pets[i] = n.WithID(id)
		w.group.current.pets = append(w.group.current.pets, pets[i])
		w.group.current.counts.addNew(periodOf(now), n)
	}
	return pets, nil
}

// nextPetID returns the id that AUTOINCREMENT would assign to the next pet. If the queue is full, nextPetID
// flushes it first.
func (w *memberWriter) nextPetID() (int64, error) {
	g := w.group
	if g.current.isFull() {
		if err := w.flush(); err != nil {
			return 0, err
		}
	}
	if g.lastPet == 0 {
		// The table sqlite_sequence has no row for pets before the first pet is inserted.
		last, _, err := lookup(w, scanValue[int64], "SELECT seq FROM sqlite_sequence WHERE name = 'pets'")
		if err != nil {
			return 0, err
		}
		g.lastPet = last
	}
	if g.lastPet == math.MaxInt64 {
		return 0, errors.New("there is no id left for another pet")
	}
	g.lastPet++
	return g.lastPet, nil
}

// updatePets executes one statement for each pet, because SQLite needs no round trips.
func (w *memberWriter) updatePets(pets []shop.Pet) error {
	for _, pet := range pets {
		if err := (directWriter{w.tx}).updatePet(pet); err != nil {
			return err
		}
	}
	return nil
}

func (w *memberWriter) insertEvents(events []shop.NewEvent) error {
	now, err := w.tx.Now()
	for _, e := range events {
		w.group.current.events = append(w.group.current.events, queuedEvent{e, micros(now)})
	}
	return errors.Join(err, w.tx.failed)
}

func (w *memberWriter) idempotencyRecord(principal int64, key string) (shop.IdempotencyRecord, bool, error) {
	if w.tx.failed != nil {
		return shop.IdempotencyRecord{}, false, w.tx.failed
	}
	for _, b := range []*batch{&w.group.current, &w.group.queued} {
		if record, found := b.record(idempotencyKey{principal, key}); found {
			return record, true, nil
		}
	}
	record, found, err := lookup(w, scanRecord, selectRecord, principal, key)
	if err != nil {
		return record, false, w.tx.fail(err)
	}
	if !found {
		w.absent = idempotencyKey{principal, key}
	}
	return record, found, nil
}

func (w *memberWriter) putIdempotencyRecord(principal int64, key string, record shop.IdempotencyRecord) error {
	if w.absent != (idempotencyKey{principal, key}) {
		return directWriter{w.tx}.putIdempotencyRecord(principal, key, record)
	}
	w.absent = idempotencyKey{}
	if record.At.IsZero() {
		now, err := w.tx.Now()
		if err != nil {
			return err
		}
		record.At = now
	}
	w.group.current.records = append(w.group.current.records, queuedRecord{idempotencyKey{principal, key}, record})
	return w.tx.failed
}

func (w *memberWriter) addCounts(changes countChanges) error {
	w.group.current.counts.add(changes)
	return w.tx.failed
}

func (w *memberWriter) ensureCategories(ids []int64) (created []int64, err error) {
	for _, id := range ids {
		found, err := w.hasCategory(id)
		if err != nil {
			return nil, err
		}
		if found {
			continue
		}
		if err := w.tx.exec("INSERT INTO categories (id) VALUES ($1)", id); err != nil {
			return nil, err
		}
		w.group.categories[id] = true
		created = append(created, id)
	}
	return created, nil
}

// requireCategory returns an error immediately if the category does not exist. The deferred foreign key would
// detect the missing category only on commit, and then the whole group would fail.
func (w *memberWriter) requireCategory(id int64) error {
	found, err := w.hasCategory(id)
	if err == nil && !found {
		err = w.tx.fail(fmt.Errorf("there is no category %d", id))
	}
	return err
}

// deleteCategory itself checks whether the category has pets. The deferred foreign key would detect them only
// on commit, and then the whole group would fail.
func (w *memberWriter) deleteCategory(id int64) error {
	used, err := w.tx.CategoryInUse(id)
	if err != nil {
		return err
	}
	if used {
		return w.tx.fail(fmt.Errorf("category %d has pets", id))
	}
	delete(w.group.categories, id)
	return w.tx.exec("DELETE FROM categories WHERE id = $1", id)
}

func (w *memberWriter) hasCategory(id int64) (bool, error) {
	if w.tx.failed != nil || w.group.categories[id] {
		return true, w.tx.failed
	}
	_, found, err := lookup(w, scanValue[int64], "SELECT id FROM categories WHERE id = $1", id)
	if err != nil {
		return false, w.tx.fail(err)
	}
	if found {
		w.group.categories[id] = true
	}
	return found, nil
}

// lookup reads one row without flushing the queue. The caller must know that the row is not queued.
func lookup[T any](w *memberWriter, scan func(Scanner) (T, error), query string, args ...any) (value T, found bool, err error) {
	rows, err := w.group.writer.conn.query(context.Background(), query, args)
	if err != nil {
		return value, false, err
	}
	defer rows.Close()
	if found = rows.Next(); found {
		value, err = scan(rows.Scan)
		return value, err == nil, err
	}
	return value, false, rows.Err()
}
