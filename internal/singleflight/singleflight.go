// Package singleflight lets concurrent callers share one computation of a result that all of them need. It differs from
// golang.org/x/sync/singleflight in when a caller may use the result of a computation that was already running: only if
// the caller accepts it as recent enough.
package singleflight

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// Group runs at most one computation for each key at the same time. The zero value is ready to use.
type Group[K comparable, T any] struct {
	begun   atomic.Int64 // the number of computations that have begun
	mu      sync.Mutex
	running map[K]*Computation[T]
}

// Computation is a computation that has begun.
type Computation[T any] struct {
	Value  T
	Err    error
	number int64 // the value of begun after this computation was counted
	done   chan struct{}
	next   *Computation[T] // the one that the callers who did not accept this one share; guarded by the group's lock
}

// errPanicked is the result of a computation that panicked.
var errPanicked = errors.New("the computation panicked")

// Begun returns the number of computations that have begun. A caller passes it to Join to say when it arrived.
func (g *Group[K, T]) Begun() int64 { return g.begun.Load() }

// Join waits for a computation that began after the caller arrived, which is when Begun returned arrived. It also
// returns a computation that began earlier if accept returns true for its value; accept may be nil, which accepts
// nothing. If there is no such computation, Join begins one, and own is true. The caller must then set its Value and Err
// and call End. Join fails with the context's error if ctx ends while it waits.
func (g *Group[K, T]) Join(ctx context.Context, key K, arrived int64, accept func(T) bool) (c *Computation[T], own bool, err error) {
	c, running := g.join(key, nil)
	for running {
		select {
		case <-c.done:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
		if c.number > arrived || c.Err == nil && accept != nil && accept(c.Value) {
			return c, false, nil
		}
		c, running = g.join(key, c)
	}
	return c, true, nil
}

// End ends a computation that Join has begun, and wakes up the callers that are waiting for it. Callers defer it, so that
// they call it even if they panic. Those who are waiting then get an error.
func (g *Group[K, T]) End(key K, c *Computation[T]) {
	g.mu.Lock()
	delete(g.running, key)
	g.mu.Unlock()
	close(c.done)
}

// join returns the computation that runs for a key. If there is none, it adds one, and running is false. If last is not
// nil, it has ended, and join returns the next computation after it, even if that one has ended, too.
func (g *Group[K, T]) join(key K, last *Computation[T]) (c *Computation[T], running bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if last != nil && last.next != nil {
		return last.next, true
	}
	if c, running = g.running[key]; !running {
		if g.running == nil {
			g.running = map[K]*Computation[T]{}
		}
		c = &Computation[T]{number: g.begun.Add(1), done: make(chan struct{}), Err: errPanicked}
		g.running[key] = c
	}
	if last != nil {
		last.next = c
	}
	return c, running
}
