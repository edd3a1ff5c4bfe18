package wordindex

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"animalstore/internal/sqlstore/engine"
)

// maxWaiting is the number of waiting texts that one search compares. It is more than a caller of Waiting that limits
// their number lets wait. A range with more ids is from a version without an index, or from a copied store.
const maxWaiting = 40_000

// Waiting returns the number of texts that wait to be indexed, at most the given number for each list and kind. It does not
// count the rows of a range from a version without an index, because indexing them takes as long as it takes.
func (x *Index) Waiting(t *engine.Tx, most int64) (n int64, err error) {
	for _, of := range x.lists {
		p, err := readProgress(t, of)
		if err != nil {
			return 0, err
		}
		if p.last < openEnded && p.last-p.position > maxWaiting {
			p.last = p.position
		}
		count, _, err := engine.One(t, engine.ScanValue[int64], fmt.Sprintf(
			"SELECT (SELECT count(*) FROM (SELECT 1 FROM %s WHERE id > $1 AND id <= $2 LIMIT $3) AS r) +"+
				" (SELECT count(*) FROM (SELECT 1 FROM %s LIMIT $3) AS c)", of.Table, x.statements.queue(of.Changes)), p.position, p.last, most)
		if err != nil {
			return 0, err
		}
		n += count
	}
	return n, nil
}

// waitingRows contains the ids of the rows of a list that wait to be indexed, highest first, as far as a search has not
// compared them. It covers all ids down to lowest.
type waitingRows struct {
	ids    []int64
	lowest int64
}

// readWaiting returns the waiting rows with ids up to top, at most maxWaiting of each kind.
func (x *Index) readWaiting(t *engine.Tx, of *List, top int64) (*waitingRows, error) {
	p, err := readProgress(t, of)
	if err != nil {
		return nil, err
	}
	w := &waitingRows{lowest: 1}
	for _, kind := range []struct {
		table    string
		from, to int64
	}{{x.statements.queue(of.Changes), 1, top}, {of.Table, p.position + 1, min(p.last, top)}} {
		if kind.from > kind.to {
			continue
		}
		ids, err := engine.All(t, engine.ScanValue[int64], fmt.Sprintf("SELECT id FROM %s WHERE id >= $1 AND id <= $2 ORDER BY id DESC LIMIT %d",
			kind.table, maxWaiting), kind.from, kind.to)
		if err != nil {
			return nil, err
		}
		if len(ids) == maxWaiting {
			w.lowest = max(w.lowest, ids[maxWaiting-1])
		}
		w.ids = append(w.ids, ids...)
	}
	slices.SortFunc(w.ids, descending)
	w.ids = slices.Compact(w.ids)
	return w, nil
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

// exhausted reports whether there may be waiting rows with ids up to top that were not read.
func (w *waitingRows) exhausted(top int64) bool { return w != nil && top < w.lowest }

// Begin prepares a transaction that writes to the index. It must be the first statement of the transaction, and IndexNow
// or WriteAll the last. On PostgreSQL, no other transaction can then write to the index. On SQLite, all texts that the
// transaction adds are queued as changes, so that each of them can be indexed by itself.
func (x *Index) Begin(t *engine.Tx) error {
	if x.shared {
		return lockIndex(t)
	}
	for _, of := range x.lists {
		err := t.Exec(fmt.Sprintf("UPDATE search_progress SET last = max(position, (SELECT coalesce(max(id), 0) FROM %s))"+
			" WHERE list = $1 AND last = $2", of.Table), of.Table, int64(openEnded))
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
		" WHERE list = $1 AND last < $2 AND NOT EXISTS (SELECT 1 FROM %[1]s WHERE id > position AND id <= last)", of.Table), of.Table, int64(openEnded))
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
	if !x.shared {
		x.indexedAlone.add(of, ids)
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

// recentRows contains the rows that writes have indexed themselves, so that a batch that was collected before such a write
// is not written after it. It keeps the rows since the collection of the batch before the last one, because it does not
// know which of them the snapshot of the last batch contained.
type recentRows struct {
	mu              sync.Mutex
	latest, earlier map[listRow]bool
}

type listRow struct {
	of *List
	id int64
}

func (r *recentRows) add(of *List, ids []int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest == nil {
		r.latest = map[listRow]bool{}
	}
	for _, id := range ids {
		r.latest[listRow{of, id}] = true
	}
}

// rotate forgets the rows from before the last call. It is called when a batch is collected.
func (r *recentRows) rotate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest, r.earlier = nil, r.latest
}

// any reports whether one of the changes in a batch is about one of the rows.
func (r *recentRows) any(b *indexBatch) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.latest)+len(r.earlier) == 0 {
		return false
	}
	return slices.ContainsFunc(b.changes, func(c textChange) bool {
		row := listRow{b.of, c.id}
		return r.latest[row] || r.earlier[row]
	})
}
