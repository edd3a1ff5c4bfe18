// Package admission decides how much of the service each API key may use at the same time. It imports only the
// standard library, so that every other package can use it.
package admission

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
)

// Limit says how many operations of one kind may run and wait at the same time.
type Limit struct {
	Total    int // the maximum number of running operations
	PerKey   int // the maximum number of running operations of one key
	Queue    int // how many operations may be in the semaphore in addition to Total, because they wait; 0 if none may wait
	KeyQueue int // the same for PerKey
}

// Unlimited is the length of a queue without a limit. It is meant for operations that another limit bounds.
const Unlimited = math.MaxInt32

// ErrFull and ErrKeyFull mean that too many operations are running or waiting, in total or with the same key.
var (
	ErrFull    = errors.New("too many operations at once")
	ErrKeyFull = errors.New("too many operations with the same key at once")
)

// Semaphore limits how many operations of one kind run at the same time, in total and for each key. Keys with waiting
// operations take turns, one operation at a time, so a key with many operations delays only its own.
type Semaphore struct {
	limit     Limit
	mu        sync.Mutex
	running   int
	runningBy map[string]int
	waiting   int
	waitingBy map[string][]chan struct{} // by key: a channel per waiting operation, closed when the operation may run
	turns     []string                   // the keys in waitingBy, in the order of their turns
}

// NewSemaphore returns a semaphore that nothing has acquired yet.
func NewSemaphore(limit Limit) *Semaphore {
	return &Semaphore{limit: limit, runningBy: map[string]int{}, waitingBy: map[string][]chan struct{}{}}
}

// Slot is the permission to run one operation. The zero value permits nothing.
type Slot struct {
	semaphore *Semaphore
	key       string
}

// Held reports whether the slot has been acquired and not yet released.
func (s *Slot) Held() bool { return s.semaphore != nil }

// Release ends the operation and passes its slot on to the next waiting operation that may have it. It does nothing if
// the slot is not held.
func (s *Slot) Release() {
	if s.semaphore != nil {
		s.semaphore.release(s.key)
		*s = Slot{}
	}
}

// Acquire waits until an operation with this key may run. If it returns nil, the caller must release the slot. It fails
// with ErrFull or ErrKeyFull if too many operations are running or waiting, and with the context's error if ctx ends
// first. It does not look at ctx if the operation need not wait.
func (s *Semaphore) Acquire(ctx context.Context, key string) (Slot, error) {
	turn, err := s.enqueue(key)
	if err != nil {
		return Slot{}, err
	}
	if turn != nil && !s.await(ctx, key, turn) {
		return Slot{}, ctx.Err()
	}
	return Slot{s, key}, nil
}

// Counts returns how many operations are running and how many are waiting.
func (s *Semaphore) Counts() (running, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running, s.waiting
}

// enqueue takes a free slot and returns nil. If there is none, it joins the queue and returns a channel that is closed
// when the operation gets a slot.
func (s *Semaphore) enqueue(key string) (chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.hasSlot(key): // nobody else is waiting for this slot, because release passes on a free slot at once
		s.take(key)
		return nil, nil
	case s.runningBy[key]+len(s.waitingBy[key]) >= s.limit.PerKey+s.limit.KeyQueue:
		return nil, ErrKeyFull
	case s.running+s.waiting >= s.limit.Total+s.limit.Queue:
		return nil, ErrFull
	}
	turn := make(chan struct{})
	if len(s.waitingBy[key]) == 0 {
		s.turns = append(s.turns, key)
	}
	s.waitingBy[key] = append(s.waitingBy[key], turn)
	s.waiting++
	return turn, nil
}

// await waits in the queue until the operation gets a slot. It leaves the queue and returns false if ctx ends first.
func (s *Semaphore) await(ctx context.Context, key string, turn chan struct{}) bool {
	select {
	case <-turn:
		return true
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waitingBy[key], turn)
	if i < 0 { // the operation got its slot just before it gave up
		return true
	}
	s.remove(key, i)
	return false
}

func (s *Semaphore) release(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if s.runningBy[key]--; s.runningBy[key] == 0 {
		delete(s.runningBy, key)
	}
	i := slices.IndexFunc(s.turns, s.hasSlot)
	if i < 0 {
		return
	}
	next := s.turns[i]
	turn := s.waitingBy[next][0]
	s.turns = append(slices.Delete(s.turns, i, i+1), next) // the next turn of this key comes after all others
	s.remove(next, 0)
	s.take(next)
	close(turn)
}

// hasSlot reports whether there is a free slot that this key may have. The caller must hold the lock.
func (s *Semaphore) hasSlot(key string) bool {
	return s.running < s.limit.Total && s.runningBy[key] < s.limit.PerKey
}

// take counts an operation as running. The caller must hold the lock.
func (s *Semaphore) take(key string) {
	s.running++
	s.runningBy[key]++
}

// remove removes an operation from the queue of its key. The caller must hold the lock.
func (s *Semaphore) remove(key string, i int) {
	s.waiting--
	if s.waitingBy[key] = slices.Delete(s.waitingBy[key], i, i+1); len(s.waitingBy[key]) == 0 {
		delete(s.waitingBy, key)
		s.turns = slices.DeleteFunc(s.turns, func(other string) bool { return other == key })
	}
}
