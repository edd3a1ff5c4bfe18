package wordindex

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"animalstore/internal/sqlstore/engine"
)

// maxWaiting is the number of waiting texts that one search compares. It is more than a caller of Waiting that limits
// their number lets wait. A range with more ids is from a version without an index, or from a copied store.
const maxWaiting = 40_000

// Waiting returns the number of texts that wait to be indexed. It reads at most maxWaiting+1 rows of each list and kind. It
// does not count a larger range from a version without an index, because indexing that takes as long as it takes.
func (x *Index) Waiting(t *engine.Tx) (n int64, err error) {
	for _, of := range x.lists {
		c, err := x.countUnindexed(t, of, maxWaiting+1)
		if err != nil {
			return 0, err
		}
		if n += c.changes; c.progress.last == openEnded || c.rows <= maxWaiting {
			n += c.texts
		}
	}
	return n, nil
}

// HasWaiting reports whether at least n texts wait to be indexed. It counts them, as Waiting does, only if the ids that have
// been assigned do not rule it out.
func (x *Index) HasWaiting(t *engine.Tx, n int64) (bool, error) {
	most := int64(0)
	for _, of := range x.lists {
		p, err := readProgress(t, of)
		if err != nil {
			return false, err
		}
		queued, _, err := engine.One(t, func(scan engine.Scanner) (queued int64, err error) {
			var newest int64
			err = scan(&newest, &queued)
			most += max(0, min(p.last, newest)-p.position)
			return queued, err
		}, fmt.Sprintf("SELECT coalesce((SELECT max(id) FROM %s), 0), (SELECT count(*) FROM (SELECT 1 FROM %s LIMIT $1) AS c)", of.Table, x.statements.queue(of.Changes)), n)
		if err != nil {
			return false, err
		}
		most += queued
	}
	if most < n {
		return false, nil
	}
	waiting, err := x.Waiting(t)
	return waiting >= n, err
}

// CountUnindexed counts all texts that have to be indexed.
func (x *Index) CountUnindexed(t *engine.Tx) (n int64, err error) {
	for _, of := range x.lists {
		c, err := x.countUnindexed(t, of, math.MaxInt64)
		if err != nil {
			return 0, err
		}
		n += c.texts + c.changes
	}
	return n, nil
}

// unindexed says how much of a list is not in the index.
type unindexed struct {
	progress             progress
	rows, texts, changes int64 // the rows that were never indexed, those of them with a text, and the queued changes
}

// countUnindexed counts the rows and the queued changes of a list that are not in the index yet. It stops counting each of
// them at most.
func (x *Index) countUnindexed(t *engine.Tx, of *List, most int64) (c unindexed, err error) {
	if c.progress, err = readProgress(t, of); err != nil {
		return c, err
	}
	c, _, err = engine.One(t, func(scan engine.Scanner) (unindexed, error) {
		err := scan(&c.rows, &c.texts, &c.changes)
		return c, err
	}, fmt.Sprintf("SELECT count(*), count(%[1]s), (SELECT count(*) FROM (SELECT 1 FROM %[2]s LIMIT $3) AS c)"+
		" FROM (SELECT %[1]s FROM %[3]s WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3) AS r", of.Text, x.statements.queue(of.Changes), of.Table),
		c.progress.position, c.progress.last, most)
	return c, err
}

// waitingRows contains the ids of the rows of some lists that wait to be indexed, highest first, as far as a search has not
// compared them. It covers all ids down to lowest.
type waitingRows struct {
	ids    []int64
	lowest int64
}

// readWaiting returns the waiting rows of some lists with ids up to top that may contain all words, at most maxWaiting of each
// list and kind.
func (x *Index) readWaiting(t *engine.Tx, lists []*List, top int64, words []string) (*waitingRows, error) {
	w := &waitingRows{lowest: 1}
	wanted := signaturesOf(words, len(lists) > 1)
	for _, of := range lists {
		if err := w.read(t, x, of, top, wanted); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(w.ids, descending)
	w.ids = slices.Compact(w.ids)
	return w, nil
}

// read adds the waiting rows of a list whose signatures contain one of the wanted signatures.
func (w *waitingRows) read(t *engine.Tx, x *Index, of *List, top int64, wanted []signature) error {
	p, err := readProgress(t, of)
	if err != nil {
		return err
	}
	queued, err := w.readTexts(t, "SELECT id, "+x.statements.lastChange()+" FROM "+x.statements.queue(of.Changes)+
		" WHERE id >= $1 AND id <= $2 GROUP BY id", 1, top)
	if err != nil {
		return err
	}
	known, last := x.signatures[of].after(p.position)
	if x.shared {
		known, last = nil, p.position // rows that are added later may have lower ids
	}
	added, err := w.readTexts(t, "SELECT id, 0 FROM "+of.Table+" WHERE id >= $1 AND id <= $2", last+1, min(p.last, top))
	if err != nil {
		return err
	}
	texts := slices.Concat(queued, added)
	for _, text := range slices.Backward(known) {
		if text.id <= top {
			texts = append(texts, text)
		}
	}
	if len(queued) > 0 {
		slices.SortStableFunc(texts, func(a, b waitingText) int { return cmp.Compare(b.id, a.id) }) // queued changes stay first
		texts = slices.CompactFunc(texts, func(a, b waitingText) bool { return a.id == b.id })
	}
	if len(texts) >= leastSigned {
		if err := x.sign(t, of, texts); err != nil {
			return err
		}
		if len(added) > 0 && len(added) < maxWaiting {
			x.signatures[of].follow(p.position, last, added[0].id, texts)
		}
		texts = matching(texts, wanted)
	}
	for _, text := range texts {
		w.ids = append(w.ids, text.id)
	}
	return nil
}

// readTexts reads the waiting texts in a range of ids with a query for their ids and seqs, highest id first.
func (w *waitingRows) readTexts(t *engine.Tx, query string, from, to int64) ([]waitingText, error) {
	if from > to {
		return nil, nil
	}
	texts, err := engine.All(t, scanWaiting, fmt.Sprintf("%s ORDER BY id DESC LIMIT %d", query, maxWaiting), from, to)
	if len(texts) == maxWaiting {
		w.lowest = max(w.lowest, texts[maxWaiting-1].id)
	}
	return texts, err
}

func descending(a, b int64) int { return cmp.Compare(b, a) }

// downTo removes the ids that are not below low, and returns them.
func (w *waitingRows) downTo(low int64) []int64 {
	n := 0
	for n < len(w.ids) && w.ids[n] >= low {
		n++
	}
	ids := w.ids[:n]
	w.ids = w.ids[n:]
	return ids
}

// truncatedAt reports whether there may be waiting rows with ids up to top that were not read.
func (w *waitingRows) truncatedAt(top int64) bool { return w != nil && top < w.lowest }

// Begin prepares a transaction that writes to the index. It must be the first statement of the transaction, and IndexNow
// or WriteAll the last. On PostgreSQL, no other transaction can then write to the index. On SQLite, all texts that the
// transaction adds are queued as changes, so that each of them can be indexed by itself.
func (x *Index) Begin(t *engine.Tx) error {
	if x.shared {
		return lockIndex(t)
	}
	for _, of := range x.lists {
		err := t.Exec(fmt.Sprintf("UPDATE search_progress SET last = max(position, (SELECT coalesce(max(id), 0) FROM %s))"+
			" WHERE list = $1 AND last = $2", of.Table), of.Name, int64(openEnded))
		if err != nil {
			return err
		}
	}
	return nil
}

// lockIndex waits for the other transactions that write to the index. In a SERIALIZABLE transaction, the lock must come
// before the snapshot, which LOCK TABLE does not take. Otherwise, the transaction would conflict with the one that it has
// waited for. If this process freezes, the server soon ends the transaction, because all nodes would wait for it.
func lockIndex(t *engine.Tx) error {
	if err := t.Exec("SET LOCAL idle_in_transaction_session_timeout = '5s'"); err != nil {
		return err
	}
	return t.Exec("LOCK TABLE search_progress IN SHARE ROW EXCLUSIVE MODE")
}

// reopen lets new rows follow position again when all rows up to last have been indexed. This costs less than queueing
// them. The rows after last are in the index or are queued as changes.
func reopen(t *engine.Tx, of *List) error {
	return t.Exec(fmt.Sprintf("UPDATE search_progress SET position = max(position, (SELECT coalesce(max(id), 0) FROM %[1]s)), last = $2"+
		" WHERE list = $1 AND last < $2 AND NOT EXISTS (SELECT 1 FROM %[1]s WHERE id > position AND id <= last)", of.Table), of.Name, int64(openEnded))
}

// IndexNow indexes the changes to the texts of the given rows. Afterwards, these texts no longer wait. The transaction must
// have called Begin.
func (x *Index) IndexNow(t *engine.Tx, of *List, ids []int64) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	changes, err := rowsByID(t, x, of.Changes, "id, seq, previous", scanChange, ids)
	if err != nil || len(changes) == 0 {
		return err
	}
	b := &indexBatch{of: of, deltas: map[postingKey]*delta{}}
	n, err := b.add(t, x, changes)
	if err != nil {
		return err
	}
	b.sortKeys()
	for rest := b; rest != nil; {
		if rest, err = x.write(t, rest); err != nil {
			return err
		}
	}
	return x.statements.forget(t, of, changes[:n], false)
}
