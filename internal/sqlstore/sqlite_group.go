package sqlstore

import (
	"context"
	"runtime"

	"animalstore/internal/shop"
)

// group is one transaction that is shared by several writes, which are called its members. The members run
// one after another.
//
// New pets, events, idempotency records and changes to the counts are queued instead of being inserted one by one.
// They are inserted many rows at a time, before COMMIT and before any statement that could see them. The field
// queued contains the rows from finished members, which a later member cannot undo. The field current contains
// the rows from the running member, which are dropped if the member fails.
//
// So a member that only adds rows needs no savepoint. When a member executes any other statement for the
// first time, memberWriter.flush opens a savepoint. Nothing that a group has read is kept for the next group,
// because another process may write in between.
type group struct {
	writer     *writer
	queued     batch
	current    batch
	categories map[int64]bool // the ids of categories that exist in this transaction
	// lastPet is the id of the newest pet, even if that pet is still queued. It is 0 if the id must be read from the
	// database.
	lastPet int64
	changes effects // the combined effects of all members
	shared  bool    // whether the group has more than one member
	err     error   // the error that ended the transaction, or nil
}

// commitGroup runs members in one transaction and commits the transaction. If open is set, writes that arrive in the
// meantime join the group.
//
// If an error in one member ends the whole transaction, as a full disk does, commitGroup finishes this member and
// returns the others. They must run again, in a group that is not open. If the group were open, every new write could
// end the transaction once more on a full disk, and the members that run again would wait forever.
func (w *writer) commitGroup(members []*member, open bool) (again []*member) {
	start := w.spans.now()
	g := &group{writer: w, categories: map[int64]bool{}}
	if g.begin() != nil {
		// This group may already have waited a long time for the lock. The queued writes fail together with the group,
		// so that they do not have to wait just as long.
		for range len(w.members) {
			members = w.join(members)
		}
		finish(members, g.err)
		return nil
	}
	for i := 0; i < len(members); i++ {
		g.shared = len(members) > 1
		if alive := g.run(members[i]); !alive {
			w.conn.rollback()
			finish(members[i:i+1], nil)
			return append(members[:i:i], members[i+1:]...)
		}
		if open && i == len(members)-1 && len(members) < maxGroup {
			if len(w.members) == 0 && len(members) <= w.recentWriters/2 {
				// Let goroutines that are about to write join this group, so that they do not have to wait
				// for the next one.
				runtime.Gosched()
			}
			members = w.join(members)
		}
	}
	w.metrics.group.Observe(float64(len(members)))
	w.recentWriters = max(len(members)+len(w.members), w.recentWriters-(w.recentWriters+15)/16)
	err := g.commit()
	w.afterWrite(g.changes, err == nil)
	w.spans.group(start, members, err)
	finish(members, err)
	if err == nil {
		w.checkpoint() // the members do not wait for this, because they have already returned
	}
	return nil
}

func (g *group) begin() error {
	if g.err = g.writer.file.check(); g.err == nil && g.exec("BEGIN IMMEDIATE") != nil {
		g.writer.conn.rollback()
	}
	return g.err
}

// commit inserts the queued rows and commits the transaction. After an error, the transaction is rolled back.
func (g *group) commit() error {
	if g.insert(&g.queued) != nil || g.writer.metrics.commit(func() error { return g.exec("COMMIT") }) != nil {
		g.writer.conn.rollback()
	}
	return g.err
}

// run runs one member. If the member fails, run undoes only the changes made by this member. It reports
// whether the transaction is still alive, because some errors, such as a full disk, make SQLite roll back the
// whole transaction.
func (g *group) run(m *member) (alive bool) {
	m.panic = nil // discards a panic from an earlier run
	if m.err = m.begin(); m.err != nil {
		return true
	}
	// The member runs with a context that is never cancelled. An interrupted statement would roll back the whole
	// transaction, including the changes made by other members.
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
		clear(g.categories) // the failed member may have created some of these categories
		after = []string{"ROLLBACK TO member", "RELEASE member"}
	}
	if !w.saved {
		return true
	}
	for _, statement := range after {
		if g.exec(statement) != nil {
			// Even a member that succeeded must now fail, because its response may depend on rows that are
			// lost.
			if m.err = t.failed; m.err == nil {
				m.err = shop.UnavailableError(g.err)
			}
			return false
		}
	}
	return true
}

// othersWait reports whether other writes are waiting for the running member.
func (t *tx) othersWait() bool {
	w, grouped := t.writer.(*memberWriter)
	return grouped && (w.group.shared || len(w.group.writer.members) > 0)
}

// exec executes a statement that controls the transaction, such as COMMIT. If the statement fails, the transaction has
// ended.
func (g *group) exec(statement string) error {
	return g.fail(g.writer.conn.exec(context.Background(), statement, nil))
}

func (g *group) fail(err error) error {
	if err != nil && g.err == nil {
		g.err = g.writer.dialect.convertError(err)
	}
	return g.err
}

// insert inserts all rows in a batch and empties the batch.
func (g *group) insert(b *batch) error {
	if b.isEmpty() {
		return g.err
	}
	w := g.writer
	err := w.insertPets.insert(w.conn, b.pets)
	if err == nil {
		err = w.insertEvents.insert(w.conn, b.events)
	}
	if err == nil {
		err = w.insertRecords.insert(w.conn, b.records)
	}
	if err == nil {
		err = w.addCounts(b.counts)
	}
	b.clear()
	return g.fail(err)
}
