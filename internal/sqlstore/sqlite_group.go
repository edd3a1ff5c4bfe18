package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"

	"animalstore/internal/shop"
)

// group is one transaction that several writes share, its members. Each undoes only itself where it fails: what it has
// added is forgotten, and what it has changed is behind a savepoint. A member that only adds needs none.
type group struct {
	writer  *writer
	pending batch          // what the members before this one have added that is not in the database yet
	added   batch          // what the member whose turn it is has added
	known   map[int64]bool // categories that there are
	lastPet int64          // the id that was given last; 0: not known
	did     effects        // of its members
	err     error          // of the transaction: it is of no use any more
}

// begin begins a transaction.
func (g *group) begin() error {
	if err := g.writer.file.check(); err != nil {
		g.err = err
		return err
	}
	if g.exec("BEGIN IMMEDIATE") != nil {
		g.writer.conn.rollback()
	}
	return g.err
}

// end puts what is left into the database and commits.
func (g *group) end() error {
	if g.put(&g.pending) != nil || g.writer.metrics.commit(func() error { return g.exec("COMMIT") }) != nil {
		g.writer.conn.rollback()
	}
	return g.err
}

// run runs one member. It reports whether the transaction is still alive.
func (g *group) run(m *member) (alive bool) {
	m.panic = nil // it may run again
	if err := m.ctx.Err(); err != nil {
		m.err = shop.UnavailableError(err) // nobody waits for it any more, and nothing of it has begun
		return true
	}
	// The member runs under a context that cannot be cancelled: an interrupted statement would roll back the whole
	// transaction, and with it the neighbours.
	tx := &tx{ctx: context.Background(), runner: g.writer.conn, dialect: g.writer.dialect, group: g}
	lastPet := g.lastPet
	m.err = tx.run(func() error { return m.call(tx) })
	g.did.add(tx.effects)
	if tx.failed != nil && g.err == nil && !g.writer.conn.inTransaction() {
		g.err = tx.failed
	}
	if g.err != nil {
		m.err = g.err
		return false
	}
	after := []string{"RELEASE member"}
	if m.err == nil && m.panic == nil {
		g.pending.take(&g.added)
	} else {
		g.added.clear()
		g.lastPet = lastPet
		clear(g.known)
		after = []string{"ROLLBACK TO member", "RELEASE member"}
	}
	if tx.saved {
		for _, statement := range after {
			if g.exec(statement) != nil {
				m.err = tx.failed // what ended the transaction
				if m.err == nil { // whatever the member said may rest on what is lost now
					m.err = shop.UnavailableError(g.err)
				}
				return false
			}
		}
	}
	return true
}

// exec runs a statement of the transaction itself. Where it fails, nothing is left of the transaction.
func (g *group) exec(statement string) error {
	return g.fail(g.writer.conn.exec(context.Background(), statement, nil))
}

func (g *group) fail(err error) error {
	if err != nil && g.err == nil {
		g.err = g.writer.dialect.meaning(err)
	}
	return g.err
}

// put puts a batch into the database.
func (g *group) put(b *batch) error {
	if b.isEmpty() {
		return g.err
	}
	w := g.writer
	err := w.insertPets.insert(w.conn, b.pets)
	if err == nil {
		err = w.insertEvents.insert(w.conn, b.events)
	}
	for _, c := range b.counts {
		if err == nil && c.change != 0 {
			err = w.conn.exec(context.Background(), w.dialect.count, []any{c.change, c.status})
		}
	}
	b.clear()
	return g.fail(err)
}

// settle makes the database ready for a statement of a member, which may look at all that was added, and may have to be
// undone.
func (t *tx) settle() error {
	g := t.group
	if g == nil {
		return nil
	}
	g.lastPet = 0 // who knows what it does
	if !t.saved {
		if err := g.put(&g.pending); err != nil {
			return err
		}
		if err := g.exec("SAVEPOINT member"); err != nil {
			return err
		}
		t.saved = true
	}
	return g.put(&g.added)
}

// aside runs a query that changes nothing and looks at nothing that is added in groups.
func aside[T any](t *tx, scan func(scanner) (T, error), query string, args ...any) (T, bool, error) {
	defer func(g *group) { t.group = g }(t.group)
	t.group = nil
	return one(t, scan, query, args...)
}

// findCategory looks for a category that is not known yet: most are there, and then nothing has to be settled.
func (t *tx) findCategory(id int64) (bool, error) {
	if t.group == nil || t.failed != nil {
		return false, t.failed
	}
	if t.group.known[id] {
		return true, nil
	}
	_, found, err := aside(t, scanValue[int64], "SELECT id FROM categories WHERE id = $1", id)
	if found {
		t.learnCategory(id)
	}
	return found, err
}

// needCategory fails where a category is not there. A file by itself would find that with the commit, and fail others, too.
func (t *tx) needCategory(id int64) error {
	if t.group == nil {
		return nil
	}
	found, err := t.findCategory(id)
	if err == nil && !found {
		err = t.fail(fmt.Errorf("there is no category %d", id))
	}
	return err
}

func (t *tx) learnCategory(id int64) {
	if t.group != nil {
		t.group.known[id] = true
	}
}

func (t *tx) forgetCategories() {
	if t.group != nil {
		clear(t.group.known)
	}
}

// addPet adds an animal of a category that is there for sure.
func (t *tx) addPet(n shop.NewPet) (shop.Pet, error) {
	if t.group.added.isFull() {
		if err := t.settle(); err != nil {
			return shop.Pet{}, err
		}
	}
	if t.group.lastPet == 0 {
		last, _, err := aside(t, scanValue[int64], "SELECT seq FROM sqlite_sequence WHERE name = 'pets'") // none was ever: 0
		if err != nil {
			return shop.Pet{}, err
		}
		t.group.lastPet = last
	}
	if t.group.lastPet == math.MaxInt64 {
		return shop.Pet{}, t.fail(errors.New("all ids of animals are given"))
	}
	t.group.lastPet++
	pet := shop.Pet{ID: t.group.lastPet, Name: n.Name, CategoryID: n.CategoryID, Status: n.Status}
	t.group.added.pets = append(t.group.added.pets, pet)
	return pet, t.count(n.Status, +1)
}
