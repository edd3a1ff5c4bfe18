package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"

	"animalstore/internal/shop"
)

// memberWriter is the rowWriter of one member of a write group. It queues new rows in the group.
//
// It looks up categories and the last id without a flush, since neither is ever queued. So a write that only
// adds rows causes no statement of its own but these lookups, whose results the members of a group share.
type memberWriter struct {
	tx    *tx
	group *group
	saved bool // the member's savepoint is open
}

// flush inserts the rows that earlier members queued, opens this member's savepoint, and inserts its own
// queued rows. A rollback to the savepoint then undoes this member and no other.
func (w *memberWriter) flush() error {
	g := w.group
	g.lastPet = 0 // the statement may insert pets itself
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
		w.group.current.addInventory(n.Status, +1)
	}
	return pets, nil
}

// nextPetID returns the next id, as AUTOINCREMENT would. The queue is flushed first when it is full.
func (w *memberWriter) nextPetID() (int64, error) {
	g := w.group
	if g.current.isFull() {
		if err := w.flush(); err != nil {
			return 0, err
		}
	}
	if g.lastPet == 0 {
		last, _, err := w.lookup("SELECT seq FROM sqlite_sequence WHERE name = 'pets'") // no row before the first pet
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

func (w *memberWriter) insertEvents(events []shop.NewEvent) error {
	now, err := w.tx.Now()
	for _, e := range events {
		w.group.current.events = append(w.group.current.events, queuedEvent{e, micros(now)})
	}
	return errors.Join(err, w.tx.failed)
}

func (w *memberWriter) addInventory(status shop.Status, change int) error {
	w.group.current.addInventory(status, change)
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

// requireCategory does at once what the deferred foreign key would do with the commit, when it would fail the
// whole group.
func (w *memberWriter) requireCategory(id int64) error {
	found, err := w.hasCategory(id)
	if err == nil && !found {
		err = w.tx.fail(fmt.Errorf("there is no category %d", id))
	}
	return err
}

// deleteCategory checks for pets itself, for the same reason as requireCategory.
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
	_, found, err := w.lookup("SELECT id FROM categories WHERE id = $1", id)
	if err != nil {
		return false, w.tx.fail(err)
	}
	if found {
		w.group.categories[id] = true
	}
	return found, nil
}

// lookup reads a number from a table whose rows are never queued, so that nothing has to be flushed.
func (w *memberWriter) lookup(query string, args ...any) (n int64, found bool, err error) {
	rows, err := w.group.writer.conn.query(context.Background(), query, args)
	if err != nil {
		return 0, false, err
	}
	defer rows.Close()
	if found = rows.Next(); found {
		return n, true, rows.Scan(&n)
	}
	return 0, false, rows.Err()
}
