package sqlstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
	"animalstore/internal/sqlstore/wordindex"
)

// backlog remembers whether too many texts wait for the search index. Counting them takes some milliseconds, so writes do
// not count them each time. Meanwhile, the writes of a tenth of a second may add more texts than the limit allows.
type backlog struct {
	mu      sync.Mutex // held while the texts are counted
	counted time.Time
	expired atomic.Bool
	full    atomic.Bool
}

// backlogAge is how long a count of the waiting texts is used.
const backlogAge = 100 * time.Millisecond

// expire makes the next write count the waiting texts.
func (b *backlog) expire() { b.expired.Store(true) }

// indexIsFull reports whether so many texts wait for the search index that a write has to index its own. If the texts cannot
// be counted, it returns the last result.
func (s *Store) indexIsFull(ctx context.Context) bool {
	b := &s.backlog
	if !b.mu.TryLock() {
		return b.full.Load()
	}
	defer b.mu.Unlock()
	if !b.expired.Swap(false) && time.Since(b.counted) < backlogAge {
		return b.full.Load()
	}
	_ = s.readRows(ctx, func(t *engine.Tx) error {
		full, err := s.dialect.words.HasWaiting(t, shop.MaxWaitingTexts)
		if err == nil {
			b.full.Store(full)
		}
		return err
	})
	b.counted = time.Now() // even if they could not be counted, so that not every write tries it
	return b.full.Load()
}

// readRows runs fn in a read transaction.
func (s *Store) readRows(ctx context.Context, fn func(*engine.Tx) error) error {
	_, err := s.engine.Read(ctx, engine.ReadOptions{}, fn)
	return err
}

// run runs a write alone. If indexes is set, it indexes the texts that the write has changed, in the same transaction.
func (t *tx) run(fn func(shop.WriteTx) error, indexes bool) error {
	if !indexes {
		return fn(t)
	}
	t.texts = map[*wordindex.List][]int64{}
	if err := t.dialect.words.Begin(t.Tx); err != nil {
		return err
	}
	if err := fn(t); err != nil {
		return err
	}
	for _, list := range searchables {
		if len(t.texts[list]) > 0 {
			if err := t.dialect.words.IndexNow(t.Tx, list, t.texts[list]); err != nil {
				return err
			}
		}
	}
	return nil
}

// textChanged records that the transaction changes the text of a row.
func (t *tx) textChanged(list *wordindex.List, id int64) {
	if t.texts != nil {
		t.texts[list] = append(t.texts[list], id)
	}
}

// BeginImport replaces a setting that every import replaces, so that two imports on PostgreSQL conflict. The later one then
// runs again and counts the texts of the earlier one.
func (t *tx) BeginImport(limit int64) (waiting int64, err error) {
	count := func(rows *engine.Tx) (err error) {
		waiting, err = t.dialect.words.Waiting(rows)
		return err
	}
	if t.dialect.words.Shared() {
		if err := t.set("last_import", ""); err != nil {
			return 0, err
		}
		err = t.dialect.readOutside(t.Ctx, count)
		return waiting, err
	}
	if err := count(t.Tx); err != nil || waiting < limit {
		return waiting, err
	}
	// These may be the rows of a copied store. Begin separates them from the rows that follow.
	if err := t.dialect.words.Begin(t.Tx); err != nil {
		return 0, err
	}
	err = count(t.Tx)
	return waiting, err
}
