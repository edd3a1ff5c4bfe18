package sqlstore

import (
	"context"

	"animalstore/internal/shop"
)

// maxGroup bounds how many writes share one commit, and so how long the first of them waits for the last.
const maxGroup = 256

// group is one transaction that several writes, its members, share. The members run one after the other.
//
// New pets, events and counts are not inserted one by one: they are queued, and inserted many rows at a time
// before a statement that could see them, and before COMMIT. The rows of members that are done are in queued:
// a later member cannot undo them. The rows of the running member are in current: they are dropped where it
// fails.
//
// So a member that only adds rows needs no savepoint. The first other statement of a member opens one
// (memberWriter.flush). Nothing that a group has read is kept for the next group: another process may write
// in between.
type group struct {
	writer     *writer
	queued     batch
	current    batch
	categories map[int64]bool // categories that exist in this transaction
	lastPet    int64          // the id of the newest pet, also of a queued one; 0: it must be read
	changes    effects        // of all members
	err        error          // why the transaction is dead
}

func (g *group) begin() error {
	if g.err = g.writer.file.check(); g.err == nil && g.exec("BEGIN IMMEDIATE") != nil {
		g.writer.conn.rollback()
	}
	return g.err
}

// commit inserts the queued rows and commits.
func (g *group) commit() error {
	if g.insert(&g.queued) != nil || g.writer.metrics.commit(func() error { return g.exec("COMMIT") }) != nil {
		g.writer.conn.rollback()
	}
	return g.err
}

// run runs one member. Where the member fails, it undoes what the member did and no more. It reports whether
// the transaction is still alive: some errors, such as a full disk, make SQLite roll all of it back.
func (g *group) run(m *member) (alive bool) {
	m.panic = nil // of an earlier run
	if err := m.ctx.Err(); err != nil {
		m.err = shop.UnavailableError(err) // its client has gone, and nothing of it has begun
		return true
	}
	// The member runs under a context that cannot end: an interrupted statement would roll back the whole
	// transaction, and its neighbours with it.
	t := &tx{ctx: context.Background(), runner: g.writer.conn, dialect: g.writer.dialect}
	w := &memberWriter{tx: t, group: g}
	t.writer = w
	lastPet := g.lastPet
	m.err = t.run(func() error { return m.call(t) })
	g.changes.add(t.effects)
	if t.failed != nil && g.err == nil && !g.writer.conn.inTransaction() {
		g.err = t.failed
	}
	if g.err != nil {
		m.err = g.err
		return false
	}
	after := []string{"RELEASE member"}
	if m.err == nil && m.panic == nil {
		g.queued.take(&g.current)
	} else {
		g.current.clear()
		g.lastPet = lastPet
		clear(g.categories) // it may have created some
		after = []string{"ROLLBACK TO member", "RELEASE member"}
	}
	if !w.saved {
		return true
	}
	for _, statement := range after {
		if g.exec(statement) != nil {
			if m.err = t.failed; m.err == nil { // its own response may rest on rows that are lost now
				m.err = shop.UnavailableError(g.err)
			}
			return false
		}
	}
	return true
}

// exec executes a statement of the transaction itself. An error means that the transaction is dead.
func (g *group) exec(statement string) error {
	return g.fail(g.writer.conn.exec(context.Background(), statement, nil))
}

func (g *group) fail(err error) error {
	if err != nil && g.err == nil {
		g.err = g.writer.dialect.convertError(err)
	}
	return g.err
}

// insert inserts the rows of a batch, and empties it.
func (g *group) insert(b *batch) error {
	if b.isEmpty() {
		return g.err
	}
	w := g.writer
	err := w.insertPets.insert(w.conn, b.pets)
	if err == nil {
		err = w.insertEvents.insert(w.conn, b.events)
	}
	for _, c := range b.inventory {
		if err == nil && c.change != 0 {
			err = w.conn.exec(context.Background(), w.dialect.addInventory, []any{c.change, c.status})
		}
	}
	b.clear()
	return g.fail(err)
}
