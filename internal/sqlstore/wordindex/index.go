package wordindex

import (
	"math"

	"animalstore/internal/sqlstore/engine"
)

// progress says how far a list has been indexed. Its rows with ids after position up to last are not in the index. All
// other rows are in the index, or are queued as changes.
type progress struct{ position, last int64 }

// openEnded is the value of progress.last on SQLite while new rows are not queued as changes, because they follow position.
const openEnded = math.MaxInt64

func readProgress(t *engine.Tx, of *List) (progress, error) {
	p, _, err := engine.One(t, func(scan engine.Scanner) (p progress, err error) {
		err = scan(&p.position, &p.last)
		return p, err
	}, "SELECT position, last FROM search_progress WHERE list = $1", of.Name)
	return p, err
}

func (p progress) complete() bool { return p.position >= p.last }

// Round is a batch of each list that has anything to index. So a list that grows all the time does not keep the others
// from being indexed.
type Round struct {
	batches []*indexBatch // the batches that have not been written completely
	more    bool          // whether there was more to index than these batches contain
}

// Result is what a transaction has indexed.
type Result struct {
	Indexed int64
	Rest    *Round // the rest of the round, or nil if everything has been written
	More    bool   // whether there is more to index
}

// Next collects a batch of each list, and reports whether there is anything to index. If several nodes share the
// indexing, it leaves this to WriteAll, which first keeps other nodes from indexing the same rows, and returns nil.
func (x *Index) Next(t *engine.Tx) (*Round, bool, error) {
	round := &Round{}
	for _, of := range x.lists {
		p, unindexed, err := x.hasUnindexed(t, of)
		if err != nil {
			return nil, false, err
		}
		if !unindexed {
			x.signatures[of].forget()
			continue
		}
		if x.shared {
			return nil, true, nil
		}
		b, err := x.collect(t, of, p)
		if err != nil {
			return nil, false, err
		}
		round.batches, round.more = append(round.batches, b), round.more || b.hasMore()
	}
	if len(round.batches) == 0 {
		return nil, false, nil
	}
	return round, true, nil
}

// hasUnindexed returns how far a list has been indexed, and whether it has rows or changes that are not indexed yet.
func (x *Index) hasUnindexed(t *engine.Tx, of *List) (p progress, unindexed bool, err error) {
	p, err = readProgress(t, of)
	if err != nil || p.last < openEnded && !(x.shared && p.complete()) {
		return p, true, err // finish removes a range that has no rows
	}
	_, unindexed, err = engine.One(t, engine.ScanValue[int64], "SELECT id FROM "+of.Table+" WHERE id > $1 AND id <= $2 LIMIT 1", p.position, p.last)
	if err == nil && !unindexed {
		_, unindexed, err = engine.One(t, engine.ScanValue[int64], "SELECT id FROM "+x.statements.queue(of.Changes)+" LIMIT 1")
	}
	return p, unindexed, err
}

// WriteAll collects and indexes a batch of each list. The transaction must have called Begin.
func (x *Index) WriteAll(t *engine.Tx) (result Result, err error) {
	for _, of := range x.lists {
		p, err := readProgress(t, of)
		if err != nil {
			return result, err
		}
		b, err := x.collect(t, of, p)
		if err != nil {
			return result, err
		}
		if _, err = x.write(t, b); err != nil {
			return result, err
		}
		if err := x.finish(t, b); err != nil {
			return result, err
		}
		result.Indexed, result.More = result.Indexed+b.size(), result.More || b.hasMore()
	}
	return result, nil
}

// WritePart writes the next part of a round from Next, or of the rest of one. round may be nil.
//
// One call writes only a part of a large batch, and the next calls write the rest. Until the last of these calls has been
// committed, the rows of the batch still count as not indexed: searches compare their texts with the search text instead
// of using the index. So it does no harm if the rest is never written. A row that changes after the batch was collected is
// queued as a change, and a later batch indexes it.
func (x *Index) WritePart(t *engine.Tx, round *Round) (result Result, err error) {
	if round == nil || len(round.batches) == 0 {
		return result, nil
	}
	rest, indexed, err := x.writePart(t, round.batches[0])
	if err != nil {
		return result, err
	}
	batches := round.batches[1:]
	if rest != nil {
		batches = append([]*indexBatch{rest}, batches...)
	}
	result = Result{Indexed: indexed, More: round.more || len(batches) > 0}
	if len(batches) > 0 {
		result.Rest = &Round{batches, round.more}
	}
	return result, nil
}

// writePart writes the next changes of a batch and returns its rest. With the last changes, it finishes the batch and
// returns the number of rows that have been indexed. It drops the batch if another one has been indexed since this one
// was collected.
func (x *Index) writePart(t *engine.Tx, b *indexBatch) (rest *indexBatch, indexed int64, err error) {
	p, err := readProgress(t, b.of)
	if err != nil || p.position != b.progress.position {
		return nil, 0, err
	}
	if b, err = x.withoutGone(t, b); err != nil {
		return nil, 0, err
	}
	if rest, err = x.write(t, b); err != nil || rest != nil {
		return rest, 0, err
	}
	return nil, b.size(), x.finish(t, b)
}
