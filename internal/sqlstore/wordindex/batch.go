package wordindex

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"animalstore/internal/sqlstore/engine"
)

// The limits for one batch. They are high, because a batch writes each posting only once, however many
// of its rows change the posting. Index.maxPostings limits how long other writes wait for one of the batch's
// transactions.
const (
	indexRows     = blockSize // the number of rows that were never indexed
	indexChanges  = 2000      // the number of changes
	batchPostings = 8000      // when a batch has this number of postings, it ends with the current row
)

// indexBatch contains changes to the search index, grouped so that each posting is written once. After it has been
// collected, it does not change. write and withoutGone return copies in which less is left.
type indexBatch struct {
	of          *List
	progress    progress // the progress before the batch
	ids         []int64  // the ids of the rows that were never indexed, in ascending order
	moreRows    bool
	changes     []textChange
	moreChanges bool
	gone        map[int64]bool // the ids of rows whose changes a write has indexed since the batch was collected
	deltas      map[postingKey]*delta
	keys        []postingKey // the keys of the postings that have not been written yet, in the order of the index
}

func (b *indexBatch) size() int64 { return int64(len(b.ids) + len(b.changes)) }

// hasMore reports whether there was more to index than the batch contains.
func (b *indexBatch) hasMore() bool { return b.moreRows || b.moreChanges }

// delta contains the ids that are added to one posting and those that are removed from it. Each id is represented by its
// offset from the start of the block, because a batch may contain millions of them.
type delta struct{ add, remove []uint16 }

// collect reads the next batch of a list.
func (x *Index) collect(t *engine.Tx, of *List, p progress) (*indexBatch, error) {
	b := &indexBatch{of: of, progress: p, deltas: map[postingKey]*delta{}}
	// Changes come before rows, because indexing all rows of a store from an earlier version takes a long time.
	err := b.addChanges(t, x)
	if err == nil {
		err = b.addRows(t, x)
	}
	b.sortKeys()
	return b, err
}

func (b *indexBatch) sortKeys() {
	b.keys = slices.SortedFunc(maps.Keys(b.deltas), func(x, y postingKey) int {
		return cmp.Or(cmp.Compare(x.gram, y.gram), cmp.Compare(x.block, y.block))
	})
}

func (b *indexBatch) isFull() bool { return len(b.deltas) >= batchPostings }

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

func scanText(scan engine.Scanner) (row textRow, err error) {
	var text sql.Null[string]
	err = scan(&row.id, &text)
	row.text = text.V
	return row, err
}

// addRows extends the batch with the next rows that were never indexed. A batch with the maximum number of rows ends at
// the end of a block, if it contains one, so that the next batch does not write the same postings again.
func (b *indexBatch) addRows(t *engine.Tx, x *Index) (err error) {
	p := b.progress
	if b.moreRows = p.position < p.last; !b.moreRows || b.isFull() {
		return nil
	}
	rows, err := engine.All(t, scanText, fmt.Sprintf("SELECT id, %s FROM %s WHERE id > $1 AND id <= $2 ORDER BY id LIMIT %d",
		b.of.Text, b.of.Table, indexRows), p.position, p.last)
	if b.moreRows = len(rows) == indexRows; b.moreRows {
		last := blockOf(rows[indexRows-1].id)
		if cut := slices.IndexFunc(rows, func(row textRow) bool { return blockOf(row.id) == last }); cut > 0 {
			rows = rows[:cut]
		}
	}
	for _, row := range rows {
		if b.isFull() {
			b.moreRows = true
			break
		}
		for _, gram := range x.gramsOf(row.text) {
			d := b.delta(gram, row.id)
			d.add = append(d.add, offsetOf(row.id))
		}
		b.ids = append(b.ids, row.id)
	}
	return err
}

// textChange is a row of the table List.Changes. It records that the text of a row has been added, changed or
// removed.
type textChange struct {
	id, seq  int64
	previous string
}

// selectChanges is the beginning of a query for changes. The name of the table follows it.
const selectChanges = "SELECT id, seq, previous FROM "

func scanChange(scan engine.Scanner) (c textChange, err error) {
	var previous sql.Null[string]
	err = scan(&c.id, &c.seq, &previous)
	c.previous = previous.V
	return c, err
}

// addChanges extends the batch with the next changes that are queued.
func (b *indexBatch) addChanges(t *engine.Tx, x *Index) error {
	changes, err := x.statements.changes(t, b.of, indexChanges)
	if err != nil || len(changes) == 0 {
		return err
	}
	n, err := b.add(t, x, changes)
	b.changes, b.moreChanges = changes[:n], n < len(changes) || len(changes) == indexChanges
	return err
}

// add extends the batch with changes until it is full, and returns how many it has added. The previous texts of the rows
// are removed from the index, and their current texts are added. The order of the changes to a row does not matter,
// because each of them adds the current text.
func (b *indexBatch) add(t *engine.Tx, x *Index, changes []textChange) (n int, err error) {
	rows, err := rowsByID(t, x, b.of.Table, "id, "+b.of.Text, scanText, idsOf(changes))
	if err != nil {
		return 0, err
	}
	texts := map[int64]string{}
	for _, row := range rows {
		texts[row.id] = row.text
	}
	for _, c := range changes {
		if n++; c.id < 1 {
			continue // the service never assigns such an id
		}
		for _, gram := range x.gramsOf(c.previous) {
			d := b.delta(gram, c.id)
			d.remove = append(d.remove, offsetOf(c.id))
		}
		for _, gram := range x.gramsOf(texts[c.id]) {
			d := b.delta(gram, c.id)
			d.add = append(d.add, offsetOf(c.id))
		}
		if b.isFull() {
			break
		}
	}
	return n, nil
}

// withoutGone returns the batch without the changes that are no longer queued, because a write has indexed them itself. Such
// a write has indexed all changes of its row.
func (x *Index) withoutGone(t *engine.Tx, b *indexBatch) (*indexBatch, error) {
	if len(b.changes) == 0 {
		return b, nil
	}
	queued, err := rowsByID(t, x, b.of.Changes, "id, seq, NULL", scanChange, idsOf(b.changes))
	if err != nil {
		return nil, err
	}
	isQueued := make(map[textChange]bool, len(queued))
	for _, c := range queued {
		isQueued[c] = true
	}
	left := *b
	left.changes, left.gone = nil, maps.Clone(b.gone)
	for _, c := range b.changes {
		if isQueued[textChange{id: c.id, seq: c.seq}] {
			left.changes = append(left.changes, c)
			continue
		}
		if left.gone == nil {
			left.gone = map[int64]bool{}
		}
		left.gone[c.id] = true
	}
	return &left, nil
}

// idsOf returns the ids of the rows that have changed.
func idsOf(changes []textChange) []int64 {
	ids := make([]int64, len(changes))
	for i, c := range changes {
		ids[i] = c.id
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// write applies the next changes of a batch to the postings. It returns the rest of the batch, or nil if everything has
// been written. It removes ids before it adds ids, because a changed text may have kept some of its grams.
func (x *Index) write(t *engine.Tx, b *indexBatch) (rest *indexBatch, err error) {
	keys := b.keys[:min(len(b.keys), x.maxPostings)]
	if len(keys) == 0 {
		return nil, nil
	}
	loaded, err := x.statements.load(t, b.of, keys)
	if err != nil {
		return nil, err
	}
	ids := make([][]byte, len(keys))
	for i, key := range keys {
		var set idSet
		set.decode(loaded[key])
		isGone := func(offset uint16) bool { return b.gone[key.block*blockSize+int64(offset)] }
		for _, offset := range b.deltas[key].remove {
			if !isGone(offset) {
				set.remove(int64(offset))
			}
		}
		for _, offset := range b.deltas[key].add {
			if !isGone(offset) {
				set.add(int64(offset))
			}
		}
		ids[i] = set.encode()
	}
	if err := x.statements.store(t, b.of, keys, ids); err != nil || len(keys) == len(b.keys) {
		return nil, err
	}
	unfinished := *b
	unfinished.keys = b.keys[len(keys):]
	return &unfinished, nil
}

// finish deletes the queued changes that a batch has indexed, and moves the indexed position past its rows.
func (x *Index) finish(t *engine.Tx, b *indexBatch) error {
	if len(b.changes) > 0 {
		if err := x.statements.forget(t, b.of, b.changes, !b.moreChanges); err != nil {
			return err
		}
	}
	position := b.progress.position
	if len(b.ids) > 0 {
		position = b.ids[len(b.ids)-1]
		if !x.shared { // the batch was collected in an earlier transaction
			if err := queueReturned(t, b, position); err != nil {
				return err
			}
		}
	}
	if x.shared && !b.moreRows {
		position = max(position, b.progress.last) // the remaining rows of the range were removed
	}
	if position > b.progress.position {
		if err := t.Exec("UPDATE search_progress SET position = $1 WHERE list = $2", position, b.of.Name); err != nil {
			return err
		}
	}
	if x.shared {
		return nil
	}
	return reopen(t, b.of)
}

// queueReturned looks for rows with ids up to last that are missing from the batch. It queues them as changes, so that
// a later batch indexes them. Such a row was removed before the batch was collected, and inserted again with the same
// id before the batch was finished.
func queueReturned(t *engine.Tx, b *indexBatch, last int64) error {
	ids, err := engine.AllUpTo(t, len(b.ids), engine.ScanValue[int64], "SELECT id FROM "+b.of.Table+" WHERE id > $1 AND id <= $2", b.progress.position, last)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, found := slices.BinarySearch(b.ids, id); found {
			continue
		}
		insert := fmt.Sprintf("INSERT INTO %s (id, seq) SELECT $1, coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM %[1]s WHERE id = $1", b.of.Changes)
		if err := t.Exec(insert, id); err != nil {
			return err
		}
	}
	return nil
}
