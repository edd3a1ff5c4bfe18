package shop

import (
	"context"
	"slices"
	"sync"
	"time"
)

// ReadLimits tells a Service how many heavy reads its store may run at the same time and how long a read may take.
type ReadLimits struct {
	// Heavy is how many heavy reads may run at the same time. The store has more connections than that, so
	// that other reads never wait for heavy ones.
	Heavy int
	// Timeout is how long a read may take before the store interrupts it.
	Timeout time.Duration
}

// maxQuickRows is the number of rows up to which a list is not heavy. Only printed lists have more.
const maxQuickRows = 100

// isHeavy reports whether a list must be read in the lane for heavy reads. A search may examine many animals
// that it does not return. All other filters are answered by an index, but a long list needs time, too.
func (l PetList) isHeavy() bool { return l.Query != "" || l.Limit > maxQuickRows }

// isHeavy reports whether a list must be read in the lane for heavy reads, because it is a search or long.
func (l OrderList) isHeavy() bool { return l.Query != "" || l.Limit > maxQuickRows }

// isHeavy reports whether a page must be read in the lane for heavy reads, which is the case if no index finds its
// events.
func (f EventFilter) isHeavy() bool { return f.UsesSummaries() }

// heavyRead runs fn in the lane for heavy reads, which are searches, printed lists, exports, counts, checks of imports
// and replays of events. It fails with unavailable or rate_limited if fn gets no place in time.
func heavyRead[T any](ctx context.Context, s *Service, fn func() (T, error)) (T, error) {
	key := actorOf(ctx)
	if err := s.heavy.acquire(ctx, key); err != nil {
		return *new(T), err
	}
	defer s.heavy.release(key)
	return fn()
}

// heavyReadIf is like heavyRead if heavy is true. Otherwise it calls fn directly.
func heavyReadIf[T any](ctx context.Context, s *Service, heavy bool, fn func() (T, error)) (T, error) {
	if !heavy {
		return fn()
	}
	return heavyRead(ctx, s, fn)
}

// lane limits how many heavy reads run at the same time. One API key gets at most half of the places. Keys with
// waiting reads take turns, one read at a time, so a key that sends many reads delays only its own.
type lane struct {
	places    int
	perKey    int // the maximum number of places for one key
	patience  time.Duration
	mu        sync.Mutex
	running   int
	runningBy map[string]int
	waiting   int
	waitingBy map[string][]chan struct{} // by key, a channel for each waiting read, which is closed when the read gets a place
	turns     []string                   // the keys in waitingBy, in the order of their turns
	refused   int64
}

const (
	// maxWaiting is the maximum number of heavy reads that may wait for a place, and maxKeyWaiting is the maximum for
	// one API key. Both are far below the number of requests that a node serves at the same time, so that waiting
	// reads cannot crowd out other requests.
	maxWaiting    = 256
	maxKeyWaiting = 64
)

// newLane returns a lane. A read may wait for a place for as long as it may run.
func newLane(limits ReadLimits) *lane {
	return &lane{
		places: limits.Heavy, perKey: max(1, limits.Heavy/2), patience: limits.Timeout,
		runningBy: map[string]int{}, waitingBy: map[string][]chan struct{}{},
	}
}

// acquire waits for a place. If it returns nil, the caller must call release. It fails with unavailable if the
// context ends, if no place becomes free in time, or if too many reads are waiting. It fails with rate_limited if too
// many reads of this key are waiting.
func (l *lane) acquire(ctx context.Context, key string) error {
	place, err := l.enqueue(key)
	if err != nil || place == nil {
		return err
	}
	patience := time.NewTimer(max(l.patience, RetryBudget(ctx)))
	defer patience.Stop()
	select {
	case <-place:
		return nil
	case <-ctx.Done():
		err = UnavailableError(ctx.Err())
	case <-patience.C:
		err = errLaneFull()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waitingBy[key], place)
	if i < 0 { // the read got its place at the same moment
		return nil
	}
	l.remove(key, i)
	if ctx.Err() == nil {
		l.refused++
	}
	return err
}

// enqueue takes a free place and returns nil. If there is none, it joins the queue and returns a channel that is
// closed when the read gets a place.
func (l *lane) enqueue(key string) (chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.hasPlace(key): // nobody else is waiting for this place, because release passes on a free place at once
		l.take(key)
		return nil, nil
	case len(l.waitingBy[key]) >= maxKeyWaiting:
		l.refused++
		return nil, Errorf(RateLimited,
			"This API key has too many searches, exports and counts waiting; its limit is %d per node.", maxKeyWaiting)
	case l.waiting >= maxWaiting:
		l.refused++
		return nil, errLaneFull()
	}
	place := make(chan struct{})
	if len(l.waitingBy[key]) == 0 {
		l.turns = append(l.turns, key)
	}
	l.waitingBy[key] = append(l.waitingBy[key], place)
	l.waiting++
	return place, nil
}

func errLaneFull() error {
	return Errorf(Unavailable, "Too many searches, exports and counts are running; try again shortly.")
}

// release frees a place and passes it on to the next waiting read that may take it.
func (l *lane) release(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	if l.runningBy[key]--; l.runningBy[key] == 0 {
		delete(l.runningBy, key)
	}
	i := slices.IndexFunc(l.turns, l.hasPlace)
	if i < 0 {
		return
	}
	next := l.turns[i]
	place := l.waitingBy[next][0]
	l.turns = append(slices.Delete(l.turns, i, i+1), next) // the next turn of this key comes after all others
	l.remove(next, 0)
	l.take(next)
	close(place)
}

// hasPlace reports whether there is a free place that this key may take. The caller must hold the lock.
func (l *lane) hasPlace(key string) bool { return l.running < l.places && l.runningBy[key] < l.perKey }

// take counts a place as taken. The caller must hold the lock.
func (l *lane) take(key string) {
	l.running++
	l.runningBy[key]++
}

// remove removes a read from the queue of its key. The caller must hold the lock.
func (l *lane) remove(key string, i int) {
	l.waiting--
	if l.waitingBy[key] = slices.Delete(l.waitingBy[key], i, i+1); len(l.waitingBy[key]) == 0 {
		delete(l.waitingBy, key)
		l.turns = slices.DeleteFunc(l.turns, func(other string) bool { return other == key })
	}
}

// HeavyReads returns how many heavy reads are running, how many are waiting for a place, and how many have been
// refused because they got no place.
func (s *Service) HeavyReads() (running, waiting int, refused int64) {
	l := s.heavy
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running, l.waiting, l.refused
}
