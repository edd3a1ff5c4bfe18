package sqlstore

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"animalstore/internal/shop"
)

// The limits for one batch of IndexSearch. They are high, because a batch writes each posting only once, however many
// of its rows change the posting. dialect.indexPostings limits how long other writes wait for one of the batch's
// transactions.
const (
	indexRows     = blockSize // the number of rows that were never indexed
	indexChanges  = 2000      // the number of changes
	indexPostings = 8000      // when a batch has this number of postings, it ends with the current row
)

// searchPosition returns the id up to which the rows of a list have been indexed. complete is true if all later rows
// are also in the index, or are queued as changes.
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

// indexRound is the batch that NextIndexBatch returns: a batch of each list that has anything to index. So a list that
// grows all the time does not keep the others from being indexed.
type indexRound struct {
	unkeyed bool          // whether there are category names without keys
	batches []*indexBatch // the batches that have not been written completely
	more    bool          // whether there was more to index than these batches contain
}

// NextIndexBatch collects a batch of each list. If several nodes share the indexing, it leaves this to IndexSearch, which
// first keeps other nodes from indexing the same rows.
func (t *tx) NextIndexBatch() (shop.IndexBatch, bool, error) {
	round := &indexRound{}
	var err error
	// Without ORDER BY, PostgreSQL may read all categories.
	if _, round.unkeyed, err = one(t, scanValue[int64], t.dialect.selectUnkeyed("id")+" ORDER BY id LIMIT 1"); err != nil {
		return nil, false, err
	}
	found := round.unkeyed
	for _, of := range searchables {
		progress, unindexed, err := t.hasUnindexed(of)
		if err != nil {
			return nil, false, err
		}
		if !unindexed {
			continue
		}
		if found = true; t.dialect.sharesIndexing {
			break
		}
		b, err := t.collect(of, progress)
		if err != nil {
			return nil, false, err
		}
		round.batches, round.more = append(round.batches, b), round.more || b.hasMore()
	}
	if !found || t.dialect.sharesIndexing {
		return nil, found, nil
	}
	return round, true, nil
}

// hasUnindexed returns how far a list has been indexed, and whether it has rows or changes that are not indexed yet.
func (t *tx) hasUnindexed(of *searchable) (progress searchProgress, unindexed bool, err error) {
	progress, _, err = t.searchProgress(of, "")
	if err != nil {
		return progress, false, err
	}
	_, unindexed, err = one(t, scanValue[int64], "SELECT id FROM "+of.table+" WHERE id > $1 AND id <= $2 LIMIT 1", progress.position, progress.last)
	if err == nil && !unindexed {
		_, unindexed, err = one(t, scanValue[int64], "SELECT id FROM "+t.dialect.queue(of.changes)+" LIMIT 1")
	}
	return progress, unindexed, err
}

// IndexSearch indexes a batch from NextIndexBatch, or the rest of one. Without a batch, it collects and indexes a batch
// of each list that no other node is indexing. It also adds keys to category names that have none.
//
// On SQLite, one call writes only a part of a large batch, and the next calls write the rest. Until the last of these
// calls has been committed, the rows of the batch still count as not indexed: searches compare their names with the
// search text instead of using the index. So it does no harm if the rest is never written. A row that changes after the
// batch was collected is queued as a change, and a later batch indexes it.
func (t *tx) IndexSearch(batch shop.IndexBatch) (result shop.IndexResult, err error) {
	if round, _ := batch.(*indexRound); round != nil {
		result, err = t.indexPart(*round)
		result.OthersWait = t.OthersWait()
		return result, err
	}
	if result.Indexed, result.More, err = t.addCategoryKeys(); err != nil {
		return result, err
	}
	for _, of := range searchables {
		progress, found, err := t.searchProgress(of, t.dialect.skipLocked)
		if err != nil {
			return result, err
		}
		if !found {
			continue // another node is indexing this list
		}
		b, err := t.collect(of, progress)
		if err != nil {
			return result, err
		}
		if _, err = t.write(b); err != nil {
			return result, err
		}
		if err := t.finish(b); err != nil {
			return result, err
		}
		result.Indexed, result.More = result.Indexed+b.size(), result.More || b.hasMore()
	}
	return result, nil
}

// indexPart writes the next part of a round.
func (t *tx) indexPart(round indexRound) (result shop.IndexResult, err error) {
	if round.unkeyed {
		var more bool
		if result.Indexed, more, err = t.addCategoryKeys(); err != nil {
			return result, err
		}
		round.unkeyed, round.more = false, round.more || more
	}
	if len(round.batches) > 0 {
		rest, indexed, err := t.writePart(round.batches[0])
		if err != nil {
			return result, err
		}
		result.Indexed += indexed
		round.batches = round.batches[1:]
		if rest != nil {
			round.batches = append([]*indexBatch{rest}, round.batches...)
		}
	}
	if len(round.batches) > 0 {
		result.Unfinished = &round
	}
	result.More = round.more || len(round.batches) > 0
	return result, nil
}

// writePart writes the next changes of a batch and returns its rest. With the last changes, it finishes the batch and
// returns the number of rows that have been indexed. It drops the batch if another one has been indexed since this one
// was collected.
func (t *tx) writePart(b *indexBatch) (rest *indexBatch, indexed int64, err error) {
	progress, _, err := t.searchProgress(b.of, "")
	if err != nil || progress != b.progress {
		return nil, 0, err
	}
	if rest, err = t.write(b); err != nil || rest != nil {
		return rest, 0, err
	}
	return nil, b.size(), t.finish(b)
}

// CountUnindexed counts the rows that IndexSearch still has to index.
func (t *tx) CountUnindexed() (n int64, err error) {
	if n, _, err = one(t, scanValue[int64], t.dialect.selectUnkeyed("count(*)")); err != nil {
		return 0, err
	}
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

// indexBatch contains changes to the search index, grouped so that each posting is written once. After it has been
// collected, it does not change. write returns copies in which fewer keys are left.
type indexBatch struct {
	of          *searchable
	progress    searchProgress // the progress before the batch
	ids         []int64        // the ids of the rows that were never indexed, in ascending order
	moreRows    bool
	changes     []textChange
	moreChanges bool
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
func (t *tx) collect(of *searchable, progress searchProgress) (*indexBatch, error) {
	b := &indexBatch{of: of, progress: progress, deltas: map[postingKey]*delta{}}
	// Changes come before rows, because indexing all rows of a store from an earlier version takes a long time.
	err := b.addChanges(t)
	if err == nil {
		err = b.addRows(t)
	}
	b.keys = slices.SortedFunc(maps.Keys(b.deltas), func(x, y postingKey) int {
		return cmp.Or(cmp.Compare(x.gram, y.gram), cmp.Compare(x.block, y.block))
	})
	return b, err
}

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

// addRows extends the batch with the next rows that were never indexed. A batch with the maximum number of rows ends at
// the end of a block, if it contains one, so that the next batch does not write the same postings again.
func (b *indexBatch) addRows(t *tx) (err error) {
	p := b.progress
	if b.moreRows = p.position < p.last; !b.moreRows || b.isFull() {
		return nil
	}
	rows, err := all(t, scanText, fmt.Sprintf("SELECT id, %s FROM %s WHERE id > $1 AND id <= $2 ORDER BY id LIMIT %d",
		b.of.text, b.of.table, indexRows), p.position, p.last)
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
		for _, gram := range gramsOf(row.text) {
			d := b.delta(gram, row.id)
			d.add = append(d.add, offsetOf(row.id))
		}
		b.ids = append(b.ids, row.id)
	}
	return err
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

// addChanges extends the batch with rows that have changed. Their previous texts are removed from the index, and their
// current texts are added. The order of the changes to a row does not matter, because each of them adds the current
// text.
func (b *indexBatch) addChanges(t *tx) error {
	changes, err := t.dialect.search.changes(t, b.of, indexChanges)
	if err != nil || len(changes) == 0 {
		return err
	}
	ids := make([]int64, len(changes))
	for i, c := range changes {
		ids[i] = c.id
	}
	slices.Sort(ids)
	rows, err := rowsByID(t, b.of.table, "id, "+b.of.text, scanText, slices.Compact(ids))
	if err != nil {
		return err
	}
	texts := map[int64]string{}
	for _, row := range rows {
		texts[row.id] = row.text
	}
	n := 0
	for _, c := range changes {
		if n++; c.id < 1 {
			continue // the service never assigns such an id
		}
		for _, gram := range gramsOf(c.previous) {
			d := b.delta(gram, c.id)
			d.remove = append(d.remove, offsetOf(c.id))
		}
		for _, gram := range gramsOf(texts[c.id]) {
			d := b.delta(gram, c.id)
			d.add = append(d.add, offsetOf(c.id))
		}
		if b.isFull() {
			break
		}
	}
	b.changes, b.moreChanges = changes[:n], n < len(changes) || len(changes) == indexChanges
	return nil
}

// write applies the next changes of a batch to the postings. It returns the rest of the batch, or nil if everything has
// been written. It removes ids before it adds ids, because a changed text may have kept some of its grams.
func (t *tx) write(b *indexBatch) (rest *indexBatch, err error) {
	keys := b.keys[:min(len(b.keys), t.dialect.indexPostings)]
	if len(keys) == 0 {
		return nil, nil
	}
	loaded, err := t.dialect.search.load(t, b.of, keys)
	if err != nil {
		return nil, err
	}
	ids := make([][]byte, len(keys))
	for i, key := range keys {
		var set idSet
		set.decode(loaded[key])
		for _, offset := range b.deltas[key].remove {
			set.remove(int64(offset))
		}
		for _, offset := range b.deltas[key].add {
			set.add(int64(offset))
		}
		ids[i] = set.encode()
	}
	if err := t.dialect.search.store(t, b.of, keys, ids); err != nil || len(keys) == len(b.keys) {
		return nil, err
	}
	unfinished := *b
	unfinished.keys = b.keys[len(keys):]
	return &unfinished, nil
}

// finish deletes the queued changes that a batch has indexed, and moves the indexed position past its rows.
func (t *tx) finish(b *indexBatch) error {
	if len(b.changes) > 0 {
		if err := t.dialect.search.forget(t, b.of, b.changes, !b.moreChanges); err != nil {
			return err
		}
	}
	if len(b.ids) == 0 {
		return nil
	}
	last := b.ids[len(b.ids)-1]
	if !t.dialect.sharesIndexing { // the batch was collected in an earlier transaction
		if err := t.queueReturned(b, last); err != nil {
			return err
		}
	}
	return t.exec("UPDATE search_progress SET position = $1 WHERE list = $2", last, b.of.table)
}

// queueReturned looks for rows with ids up to last that are missing from the batch. It queues them as changes, so that
// a later batch indexes them. Such a row was removed before the batch was collected, and inserted again with the same
// id before the batch was finished.
func (t *tx) queueReturned(b *indexBatch, last int64) error {
	ids, err := allUpTo(t, len(b.ids), scanValue[int64], "SELECT id FROM "+b.of.table+" WHERE id > $1 AND id <= $2", b.progress.position, last)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, found := slices.BinarySearch(b.ids, id); found {
			continue
		}
		insert := fmt.Sprintf("INSERT INTO %s (id, seq) SELECT $1, coalesce(max(seq), 0) + 1 FROM %[1]s WHERE id = $1", b.of.changes)
		if err := t.exec(insert, id); err != nil {
			return err
		}
	}
	return nil
}
