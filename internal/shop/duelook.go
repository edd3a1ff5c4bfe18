package shop

import (
	"sync"
	"time"
)

// dueLooks decides where each query for due deliveries begins. Such a query is called a look. Normally a look begins
// with the earliest scheduled delivery, which is called the beginning. But while a backup on a PostgreSQL server holds
// a snapshot, the server keeps the index entries of finished deliveries, and a look from the beginning has to read all
// of them. After such a slow look, the next looks therefore begin at a later time. A later start has a cost, too: such
// a look has to query every webhook.
//
// A delivery is scheduled for the time of the transaction that writes it, or later. Therefore a look misses nothing if
// it begins at a time before the start of the oldest open transaction. A look begins dueMargin before the last look,
// and dueMargin is longer than a transaction normally takes. If a transaction takes longer, its deliveries are found by
// the next look from the beginning.
type dueLooks struct {
	mu      sync.Mutex
	at      time.Time // the time of the last look, by the store's clock
	next    *DueFrom  // where the next look begins; nil means at the beginning
	restart time.Time // the time from which looks begin at the beginning again
}

const (
	// slowDueLook is how long a look from the beginning must take to count as slow. With a thousand webhooks that all
	// have scheduled deliveries, a look takes about a third of that.
	slowDueLook = 20 * time.Millisecond
	// dueMargin is how far before the time of the last look the next look begins.
	dueMargin = 10 * time.Second
	// dueRestart is the time between a slow look and the next look from the beginning.
	dueRestart = time.Minute
)

// look returns the webhooks with scheduled deliveries.
func (l *dueLooks) look(tx ReadTx, now time.Time) ([]DueWebhook, error) {
	from, start := l.from(now), time.Now()
	due, err := tx.DueWebhooks(now, from)
	if err == nil {
		l.record(now, due, from == nil, time.Since(start) >= slowDueLook)
	}
	return due, err
}

// from returns where the next look begins, or nil for the beginning. If the clock was set back, the look begins at
// the beginning.
func (l *dueLooks) from(now time.Time) *DueFrom {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.at) || !now.Before(l.restart) {
		return nil
	}
	return l.next
}

// record uses the result of a look to decide where the next look begins. complete means that the look began at the
// beginning.
func (l *dueLooks) record(now time.Time, due []DueWebhook, complete, slow bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if complete {
		l.next, l.restart = nil, time.Time{}
		if !slow {
			return
		}
		l.restart = now.Add(dueRestart)
	}
	l.at, l.next = now, &DueFrom{Time: now.Add(-dueMargin), Webhooks: map[int64]time.Time{}}
	for _, hook := range due {
		if hook.First.Before(l.next.Time) {
			l.next.Webhooks[hook.ID] = hook.First
		}
	}
}
