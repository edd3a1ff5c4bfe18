package shop

import (
	"sync"
	"time"
)

// dueLooks remembers what the last look for due deliveries has found, so that the next one can begin there. While a
// backup on a PostgreSQL server holds a snapshot, the server keeps the index entries of deliveries that are done,
// and every look from the beginning would read all of them. That is necessary only if such a look is slow: a look
// from a later time asks for each webhook.
//
// A delivery is scheduled for the time of the transaction that writes it, or later. So a look that begins before
// the oldest transaction leaves nothing out. Transactions do not take as long as dueMargin; a delivery that
// nevertheless comes later is found by the next look from the beginning.
type dueLooks struct {
	mu      sync.Mutex
	at      time.Time // the time of the last look, by the store's clock
	next    *DueFrom  // where the next look begins; nil means at the beginning
	restart time.Time // when a look begins at the beginning again
}

const (
	// slowDueLook is the duration from which on a look from the beginning is slow. With a thousand webhooks that
	// all have scheduled deliveries, it takes about a third of that.
	slowDueLook = 20 * time.Millisecond
	// dueMargin is how much earlier than the last look the next one begins.
	dueMargin = 10 * time.Second
	// dueRestart is how long looks do not begin at the beginning after a slow one.
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

// from returns where the next look begins. If the clock was set back, that is the beginning.
func (l *dueLooks) from(now time.Time) *DueFrom {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.at) || !now.Before(l.restart) {
		return nil
	}
	return l.next
}

// record remembers what a look has found. complete means that it began at the beginning.
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
