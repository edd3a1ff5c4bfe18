package sqlstore

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"slices"
)

// The limits for one batch of IndexSearch. They bound how long other writes wait for it.
const (
	indexRows     = 4000 // the number of rows that were never indexed
	indexChanges  = 2000 // the number of changes
	indexPostings = 8000 // after this number of postings, the batch ends with the current row
)

// searchPosition returns the id up to which the rows of a list have been indexed. complete is true if all later rows
// are in the index, too, or among the changes.
func (t *tx) searchPosition(of *searchable) (position int64, complete bool, err error) {
	p, _, err := t.searchProgress(of, "")
	return p.position, p.position >= p.last, err
}

type searchProgress struct{ position, last int64 }

// searchProgress returns how far a list has been indexed. locking is appended to the query. If it is
// dialect.skipLocked and another transaction has locked the row, found is false.
func (t *tx) searchProgress(of *searchable, locking string) (progress searchProgress, found bool, err error) {
	return one(t, func(scan Scanner) (p searchProgress, err error) {
		err = scan(&p.position, &p.last)
		return p, err
	}, "SELECT position, last FROM search_progress WHERE list = $1"+locking, of.table)
}

// IndexSearch indexes one batch of each list: rows that were never indexed, and rows that have changed. Only one node
// at a time indexes a list.
func (t *tx) IndexSearch() (indexed int64, more bool, err error) {
	for _, of := range searchables {
		progress, found, err := t.searchProgress(of, t.dialect.skipLocked)
		if err != nil {
			return 0, false, err
		}
		if !found {
			continue // another node is indexing this list
		}
		b := &indexBatch{tx: t, of: of, deltas: map[postingKey]*delta{}}
		changes, moreChanges, err := b.addChanges() // first, because indexing a store from an earlier version takes long
		if err != nil {
			return 0, false, err
		}
		rows, moreRows, err := b.addRows(progress)
		if err == nil {
			err = b.write()
		}
		if err != nil {
			return 0, false, err
		}
		indexed, more = indexed+rows+changes, more || moreRows || moreChanges
	}
	return indexed, more, nil
}

// HasUnindexed reports whether IndexSearch has anything to index.
func (t *tx) HasUnindexed() (bool, error) {
	for _, of := range searchables {
		progress, _, err := t.searchProgress(of, "")
		if err != nil {
			return false, err
		}
		_, rows, err := one(t, scanValue[int64], "SELECT id FROM "+of.table+" WHERE id > $1 AND id <= $2 LIMIT 1", progress.position, progress.last)
		if err != nil || rows {
			return rows, err
		}
		_, changes, err := one(t, scanValue[int64], "SELECT id FROM "+t.dialect.queue(of.changes)+" LIMIT 1")
		if err != nil || changes {
			return changes, err
		}
	}
	return false, nil
}

// CountUnindexed counts the rows that IndexSearch still has to index.
func (t *tx) CountUnindexed() (n int64, err error) {
	for _, of := range searchables {
		progress, _, err := t.searchProgress(of, "")
		if err != nil {
			return 0, err
		}
		count, _, err := one(t, scanValue[int64], fmt.Sprintf("SELECT (SELECT count(*) FROM %s WHERE id > $1 AND id <= $2) +"+
			" (SELECT count(*) FROM %s)", of.table, t.dialect.queue(of.changes)), progress.position, progress.last)
		if err != nil {
			return 0, err
		}
		n += count
	}
	return n, nil
}

// indexBatch collects changes to the search index and writes each posting once.
type indexBatch struct {
	tx     *tx
	of     *searchable
	deltas map[postingKey]*delta
}

// delta contains the ids that are added to one posting and those that are removed from it.
type delta struct{ add, remove []int64 }

func (b *indexBatch) isFull() bool { return len(b.deltas) >= indexPostings }

func (b *indexBatch) delta(gram, id int64) *delta {
	key := postingKey{gram, blockOf(id)}
	if b.deltas[key] == nil {
		b.deltas[key] = &delta{}
	}
	return b.deltas[key]
}

// textRow is a row with the text that is searched.
type textRow struct {
	id   int64
	text string
}

func scanText(scan Scanner) (row textRow, err error) {
	var text sql.Null[string]
	err = scan(&row.id, &text)
	row.text = text.V
	return row, err
}

// addRows adds the next rows that were never indexed to the batch, and moves the indexed position past them.
func (b *indexBatch) addRows(p searchProgress) (n int64, more bool, err error) {
	if p.position >= p.last || b.isFull() {
		return 0, p.position < p.last, nil
	}
	rows, err := all(b.tx, scanText, fmt.Sprintf("SELECT id, %s FROM %s WHERE id > $1 AND id <= $2 ORDER BY id LIMIT %d",
		b.of.text, b.of.table, indexRows), p.position, p.last)
	if err != nil || len(rows) == 0 {
		return 0, false, err
	}
	for _, row := range rows {
		for _, gram := range gramsOf(row.text) {
			d := b.delta(gram, row.id)
			d.add = append(d.add, row.id)
		}
		n, p.position = n+1, row.id
		if b.isFull() {
			break
		}
	}
	more = int(n) < len(rows) || len(rows) == indexRows
	return n, more, b.tx.exec("UPDATE search_progress SET position = $1 WHERE list = $2", p.position, b.of.table)
}

// textChange is a row of the table searchable.changes. It records that the text of a row has been added, changed or
// removed.
type textChange struct {
	id, seq  int64
	previous string
}

// selectChanges is the beginning of a query for changes. The name of the table follows it.
const selectChanges = "SELECT id, seq, previous FROM "

func scanChange(scan Scanner) (c textChange, err error) {
	var previous sql.Null[string]
	err = scan(&c.id, &c.seq, &previous)
	c.previous = previous.V
	return c, err
}

// addChanges adds rows that have changed to the batch. Their previous texts are removed from the index, and their
// current texts are added. The order of the changes to a row does not matter, because each of them adds the current
// text.
func (b *indexBatch) addChanges() (n int64, more bool, err error) {
	changes, err := b.tx.dialect.search.changes(b.tx, b.of, indexChanges)
	if err != nil || len(changes) == 0 {
		return 0, false, err
	}
	ids := make([]int64, len(changes))
	for i, c := range changes {
		ids[i] = c.id
	}
	slices.Sort(ids)
	rows, err := rowsByID(b.tx, b.of.table, "id, "+b.of.text, scanText, slices.Compact(ids))
	if err != nil {
		return 0, false, err
	}
	texts := map[int64]string{}
	for _, row := range rows {
		texts[row.id] = row.text
	}
	for _, c := range changes {
		if n++; c.id < 1 {
			continue // the service assigns no such id
		}
		for _, gram := range gramsOf(c.previous) {
			d := b.delta(gram, c.id)
			d.remove = append(d.remove, c.id)
		}
		for _, gram := range gramsOf(texts[c.id]) {
			d := b.delta(gram, c.id)
			d.add = append(d.add, c.id)
		}
		if b.isFull() {
			break
		}
	}
	more = int(n) < len(changes) || len(changes) == indexChanges
	return n, more, b.tx.dialect.search.forget(b.tx, b.of, changes[:n], !more)
}

// write applies the collected changes to the postings. It removes ids before it adds ids, because a changed text may
// have kept some of its grams.
func (b *indexBatch) write() error {
	if len(b.deltas) == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(b.deltas), func(x, y postingKey) int {
		return cmp.Or(cmp.Compare(x.gram, y.gram), cmp.Compare(x.block, y.block))
	})
	loaded, err := b.tx.dialect.search.load(b.tx, b.of, keys)
	if err != nil {
		return err
	}
	ids := make([][]byte, len(keys))
	for i, key := range keys {
		var set idSet
		set.decode(loaded[key])
		for _, id := range b.deltas[key].remove {
			set.remove(id)
		}
		for _, id := range b.deltas[key].add {
			set.add(id)
		}
		ids[i] = set.encode()
	}
	return b.tx.dialect.search.store(b.tx, b.of, keys, ids)
}
