package admission

import (
	"context"
	"sync"
	"time"
)

// Semaphore limits how many operations of one kind run at the same time, in total and for each key. An operation beyond
// the limit waits, if its limit has a queue, and is refused otherwise. Keys with waiting operations take turns, one
// operation at a time, so a key with many operations delays only its own.
type Semaphore struct {
	limit     Limit
	mu        sync.Mutex
	running   int
	runningBy map[string]int
	waiting   Turns[waiter]
}

// waiter is an operation that waits.
type waiter struct {
	n    int           // how many others it weighs as much as
	turn chan struct{} // closed when the operation may run
}

// NewSemaphore returns a semaphore that nothing has acquired yet.
func NewSemaphore(limit Limit) *Semaphore {
	return &Semaphore{limit: limit, runningBy: map[string]int{}}
}

// Slot is the permission to run an operation. The zero value permits nothing.
type Slot struct {
	semaphore *Semaphore
	key       string
	n         int
	began     time.Time // set only if the limit has a pause
}

// Held reports whether the slot has been acquired and not yet released.
func (s *Slot) Held() bool { return s.semaphore != nil }

// Extend adds n to the weight of the operation, even beyond the limit. It is meant for an operation that can
// no longer be refused. It does nothing if the slot is not held.
func (s *Slot) Extend(n int) {
	if s.semaphore != nil {
		s.semaphore.mu.Lock()
		defer s.semaphore.mu.Unlock()
		s.semaphore.take(s.key, n)
		s.n += n
	}
}

// Release ends the operation and passes its slot on to the next waiting operation that may have it. It does nothing if
// the slot is not held.
func (s *Slot) Release() {
	if s.semaphore != nil {
		s.semaphore.release(s)
		*s = Slot{}
	}
}

// Acquire waits until an operation with this key may run. If it returns nil, the caller must release the slot. It fails
// with a Refusal if too many operations are running or waiting, or if the operation has waited for too long. It fails
// with the context's error if ctx ends first. It does not look at ctx if the operation need not wait.
func (s *Semaphore) Acquire(ctx context.Context, key string) (Slot, error) {
	return s.AwaitN(ctx, key, 1)
}

// AwaitN waits, as Acquire does, until an operation that weighs as much as n others may run. An operation that is heavier
// than the whole limit runs alone. No lighter operation overtakes one that waits for room.
func (s *Semaphore) AwaitN(ctx context.Context, key string, n int) (Slot, error) {
	w := waiter{n: n}
	if err := s.enqueue(key, &w); err != nil {
		return Slot{}, err
	}
	if w.turn != nil {
		if err := s.await(ctx, key, w); err != nil {
			return Slot{}, err
		}
	}
	return s.slot(key, n), nil
}

// AcquireN counts an operation that weighs as much as n others, such as a response of n bytes. It never waits, and fails
// with a Refusal.
func (s *Semaphore) AcquireN(key string, n int) (Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.limit.PerKey > 0 && s.runningBy[key]+n > s.limit.PerKey:
		return Slot{}, &Refusal{Limit: s.limit, ByKey: true}
	case s.running+n > s.limit.Total:
		return Slot{}, &Refusal{Limit: s.limit}
	}
	s.take(key, n)
	return s.slot(key, n), nil
}

func (s *Semaphore) slot(key string, n int) Slot {
	slot := Slot{semaphore: s, key: key, n: n}
	if s.limit.Pause > 0 {
		slot.began = time.Now()
	}
	return slot
}

// Counts returns how many operations are running and how many are waiting.
func (s *Semaphore) Counts() (running, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running, s.waiting.Len()
}

// enqueue takes the free slots for an operation. If there are not enough, the operation joins the queue and gets a channel
// for its turn.
func (s *Semaphore) enqueue(key string, w *waiter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.limit
	switch {
	case s.hasShare(key, *w) && s.hasRoom(*w) && !s.isAwaited():
		s.take(key, w.n)
		return nil
	case limit.PerKey > 0 && s.runningBy[key]+s.waiting.LenOf(key) >= limit.PerKey+limit.KeyQueue:
		return &Refusal{Limit: limit, ByKey: true}
	case s.running+s.waiting.Len() >= limit.Total+limit.Queue:
		return &Refusal{Limit: limit}
	}
	w.turn = make(chan struct{})
	s.waiting.Add(key, *w)
	return nil
}

// await waits in the queue until the operation gets a slot. If it fails, the operation has left the queue.
func (s *Semaphore) await(ctx context.Context, key string, w waiter) error {
	var late <-chan time.Time
	if s.limit.Wait > 0 {
		late = time.After(s.limit.Wait)
	}
	var err error
	select {
	case <-w.turn:
		return nil
	case <-late:
		err = &Refusal{Limit: s.limit, TimedOut: true}
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.waiting.Remove(key, w) { // the operation got its slot just before it gave up
		return nil
	}
	s.passOn() // there may be room for lighter operations
	return err
}

func (s *Semaphore) release(slot *Slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running -= slot.n
	if s.limit.Pause > 0 && s.waiting.LenOf(slot.key) > 0 {
		// The key's share stays in use during the pause.
		key, n := slot.key, slot.n
		time.AfterFunc(time.Duration(s.limit.Pause)*time.Since(slot.began), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.freeShare(key, n)
			s.passOn()
		})
	} else {
		s.freeShare(slot.key, slot.n)
	}
	s.passOn()
}

// freeShare frees a part of a key's share. The caller must hold the lock.
func (s *Semaphore) freeShare(key string, n int) {
	if s.runningBy[key] -= n; s.runningBy[key] == 0 {
		delete(s.runningBy, key)
	}
}

// passOn gives free slots to the next waiting operations that may have them. The caller must hold the lock.
func (s *Semaphore) passOn() {
	for s.waiting.Len() > 0 {
		if _, next, found := s.waiting.Next(s.hasShare); !found || !s.hasRoom(next) {
			return
		}
		key, next, _ := s.waiting.Take(s.hasShare)
		s.take(key, next.n)
		close(next.turn)
	}
}

// isAwaited reports whether an operation waits for room, and not only for its key's share. The caller must hold the lock.
func (s *Semaphore) isAwaited() bool {
	if s.waiting.Len() == 0 {
		return false
	}
	_, _, found := s.waiting.Next(s.hasShare)
	return found
}

// hasRoom reports whether an operation may run beside the others. The caller must hold the lock.
func (s *Semaphore) hasRoom(w waiter) bool {
	return s.running == 0 || s.running+w.n <= s.limit.Total
}

// hasShare reports whether a key may run an operation as well as its others. The caller must hold the lock.
func (s *Semaphore) hasShare(key string, w waiter) bool {
	return s.limit.PerKey == 0 || s.runningBy[key] == 0 || s.runningBy[key]+w.n <= s.limit.PerKey
}

// take counts an operation as running. The caller must hold the lock.
func (s *Semaphore) take(key string, n int) {
	s.running += n
	s.runningBy[key] += n
}
