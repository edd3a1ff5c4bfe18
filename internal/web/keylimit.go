package web

import (
	"sync"

	"animalstore/internal/shop"
)

// KeyLimit limits how many operations of one kind run at the same time, in total and per API key, so that one
// key cannot use up the whole limit. Callers never wait: an operation beyond a limit is refused.
type KeyLimit struct {
	operations     string // the plural noun for the operations in error messages, such as "imports"
	max, maxPerKey int
	mu             sync.Mutex
	running        int
	runningByKey   map[int64]int
}

// NewKeyLimit returns a KeyLimit. operations is the plural noun for the operations in error messages, such as
// "imports".
func NewKeyLimit(operations string, max, maxPerKey int) *KeyLimit {
	return &KeyLimit{operations: operations, max: max, maxPerKey: maxPerKey, runningByKey: map[int64]int{}}
}

// Acquire counts an operation until the caller calls release. It fails with rate_limited if this key runs too
// many operations and with unavailable if all keys together do.
func (l *KeyLimit) Acquire(principal shop.Principal) (release func(), err error) {
	return l.AcquireN(principal, 1)
}

// AcquireN is like Acquire, but it counts n operations.
func (l *KeyLimit) AcquireN(principal shop.Principal, n int) (release func(), err error) {
	if err := l.add(principal, n); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { l.remove(principal, n) }), nil
}

// Add is like Acquire, but it allocates nothing. It is meant for callers that run often. The caller must call Remove
// once, at the end of the operation.
func (l *KeyLimit) Add(principal shop.Principal) error { return l.add(principal, 1) }

// Remove stops counting an operation that Add has counted.
func (l *KeyLimit) Remove(principal shop.Principal) { l.remove(principal, 1) }

func (l *KeyLimit) add(principal shop.Principal, n int) error {
	key := principal.ID()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runningByKey[key]+n > l.maxPerKey {
		return shop.Errorf(shop.RateLimited, "This API key has too many %s at once; its limit is %d per node.", l.operations, l.maxPerKey)
	}
	if l.running+n > l.max {
		return shop.Errorf(shop.Unavailable, "There are too many %s at once; try again shortly.", l.operations)
	}
	l.running += n
	l.runningByKey[key] += n
	return nil
}

func (l *KeyLimit) remove(principal shop.Principal, n int) {
	key := principal.ID()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running -= n
	if l.runningByKey[key] -= n; l.runningByKey[key] == 0 {
		delete(l.runningByKey, key)
	}
}
