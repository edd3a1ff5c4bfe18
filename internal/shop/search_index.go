package shop

import (
	"context"
	"sync"
	"time"
)

// SearchBookkeeping contains the methods of Bookkeeping that maintain the search index.
type SearchBookkeeping interface {
	// IndexSearch adds a batch from NextIndexBatch to the search index. A batch may take several transactions. Each of
	// them gets the unfinished rest that the previous one returned. Only one batch of a store may be in progress on a
	// node.
	IndexSearch(batch IndexBatch) (IndexResult, error)
	// BeginImport makes other imports wait until this transaction has ended. It returns the number of texts that wait for
	// the search index, or limit or more if there are too many. It does not count the texts of a version without an index.
	BeginImport(limit int64) (waiting int64, err error)
}

// IndexBatch is a batch of IndexSearch, or its rest that has not been written yet. Only the store knows what it
// contains.
type IndexBatch any

// IndexResult is the result of one call of IndexSearch.
type IndexResult struct {
	Indexed    int64      // the number of animals, orders and names of categories that this call has indexed
	More       bool       // whether there may be more to index
	Unfinished IndexBatch // the rest of the batch, or nil if everything has been written
}

// IndexProgress is the progress of the job that maintains the search index.
type IndexProgress struct {
	Indexed int64 // the number of animals, orders and names of categories that this node has indexed
	Left    int64 // the number of animals, orders and names of categories that are not indexed yet
}

// IndexProgress returns the progress as of the last report, which is at most indexReportInterval old while
// animals are being indexed.
func (s *Service) IndexProgress() IndexProgress {
	s.indexing.mu.Lock()
	defer s.indexing.mu.Unlock()
	return s.indexing.progress
}

// indexing is the state of the job that maintains the search index.
type indexing struct {
	running    sync.Mutex    // held during a run of IndexSearch, so that there is only one at a time
	unfinished IndexBatch    // the rest of the batch that the last run began, or nil; protected by running
	again      chan struct{} // a value in this channel starts the next run at once

	mu       sync.Mutex // protects the fields below
	progress IndexProgress
	reported time.Time
}

// wake starts the next run of IndexSearch at once.
func (i *indexing) wake() {
	select {
	case i.again <- struct{}{}:
	default: // it will start at once anyway
	}
}

const (
	// indexSteps is the maximum number of steps in one run of IndexSearch, each with one write. A run reports its progress at its
	// end.
	indexSteps = 20
	// indexReportInterval is how often IndexSearch reports its progress while it has more to do.
	indexReportInterval = 5 * time.Second
)

// IndexSearch adds new and changed animals and orders to the search index, in small transactions. Until a text is in
// the index, searches have to compare it separately. IndexSearch also indexes names of categories that an earlier
// version wrote. When ctx ends, it completes its current step and starts no other, so that the program ends soon.
func (s *Service) IndexSearch(ctx context.Context) error {
	i, work := &s.indexing, context.WithoutCancel(ctx)
	i.running.Lock()
	defer i.running.Unlock()
	more, indexed := true, int64(0)
	for step := 0; more && step < indexSteps; step++ {
		result, err := IndexStep(work, s.store, i.unfinished)
		if err != nil {
			return err
		}
		i.unfinished, more, indexed = result.Unfinished, result.More, indexed+result.Indexed
		if ctx.Err() != nil {
			break
		}
	}
	if more {
		i.wake()
	}
	return s.reportIndexing(work, indexed, more)
}

// IndexStep writes a batch or a part of it to the search index. Without a batch, it collects one first. It does this in a
// read transaction, because on SQLite, all other writes wait for a write.
func IndexStep(ctx context.Context, store Store, batch IndexBatch) (result IndexResult, err error) {
	more := true
	if batch == nil {
		err = store.Read(ctx, Reading{}, func(tx ReadTx) (err error) {
			batch, more, err = tx.NextIndexBatch()
			return err
		})
	}
	if err != nil || !more {
		return IndexResult{}, err
	}
	err = store.Write(ctx, Writing{Priority: Background}, func(tx WriteTx) (err error) {
		result, err = tx.IndexSearch(batch)
		return err
	})
	return result, err
}

// reportIndexing updates the progress after a run that has indexed the given number of animals, orders and
// category names. If many runs are needed, as in a store from an earlier version, it also passes the progress to
// Options.OnIndexing from time to time.
func (s *Service) reportIndexing(ctx context.Context, indexed int64, more bool) error {
	i, now, left := &s.indexing, s.clock(), int64(0)
	i.mu.Lock()
	i.progress.Indexed += indexed
	behind, due := i.progress.Left > 0, now.Sub(i.reported).Abs() >= indexReportInterval
	i.mu.Unlock()
	switch {
	case more && !due, !more && !behind:
		return nil
	case more:
		var err error
		if left, err = read(ctx, s, Reading{}, ReadTx.CountUnindexed); err != nil {
			return err
		}
	}
	i.mu.Lock()
	i.progress.Left, i.reported = left, now
	progress := i.progress
	i.mu.Unlock()
	if s.onIndexing != nil {
		s.onIndexing(progress)
	}
	return nil
}
