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
	running map[K]*computation[T]
}

// computation is a computation that has begun. Its result may be read only after done is closed.
type computation[T any] struct {
	number int64 // the value of begun after this computation was counted
	done   chan struct{}
	value  T
	err    error
	next   *computation[T] // the one that the callers who did not accept this one share; guarded by the group's lock
}

// errPanicked is the result of a computation that panicked.
var errPanicked = errors.New("the computation panicked")

// Begun returns the number of computations that have begun. A caller passes it to Do to say when it arrived.
func (g *Group[K, T]) Begun() int64 { return g.begun.Load() }

// Do returns the result of a computation that began after the caller arrived, which is when Begun returned arrived. It
// shares a running computation or starts compute. If a computation began before the caller arrived, Do uses its result
// only if accept returns true; accept may be nil, which accepts nothing. Do fails if the computation fails, and with the
// context's error if ctx ends while it waits for others.
func (g *Group[K, T]) Do(ctx context.Context, key K, arrived int64, accept func(T) bool, compute func() (T, error)) (T, error) {
	c, running := g.join(key, nil)
	for running {
		select {
		case <-c.done:
		case <-ctx.Done():
			return *new(T), ctx.Err()
		}
		if c.number > arrived || c.err == nil && accept != nil && accept(c.value) {
			return c.value, c.err
		}
		c, running = g.join(key, c)
	}
	return g.run(key, c, compute)
}

// join returns the computation that runs for a key. If there is none, it adds one, and running is false. If last is not
// nil, it has ended, and join returns the next computation after it, even if that one has ended, too.
func (g *Group[K, T]) join(key K, last *computation[T]) (c *computation[T], running bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if last != nil && last.next != nil {
		return last.next, true
	}
	if c, running = g.running[key]; !running {
		if g.running == nil {
			g.running = map[K]*computation[T]{}
		}
		c = &computation[T]{number: g.begun.Add(1), done: make(chan struct{}), err: errPanicked}
		g.running[key] = c
	}
	if last != nil {
		last.next = c
	}
	return c, running
}

// run computes the result and wakes up the callers that are waiting for it.
func (g *Group[K, T]) run(key K, c *computation[T], compute func() (T, error)) (T, error) {
	defer func() { // runs even if compute panics
		g.mu.Lock()
		delete(g.running, key)
		g.mu.Unlock()
		close(c.done)
	}()
	c.value, c.err = compute()
	return c.value, c.err
}
