package shop

import (
	"context"
	"sync/atomic"
)

// shared computes a result that many callers need and shares it among them. Only one computation runs at a time. A
// caller never gets a result whose computation began before the call, unless the caller accepts it as valid.
type shared[T any] struct {
	begun atomic.Int64  // the number of computations that have begun
	turn  chan struct{} // a semaphore that guards the fields below and is held during a computation
	last  int64         // the number of the computation that returned value and err; 0 before the first
	value T
	err   error
}

func newShared[T any]() *shared[T] { return &shared[T]{turn: make(chan struct{}, 1)} }

// get returns the last result if its computation began after get was called, or if valid accepts it. Otherwise it
// computes the result. The computation does not belong to the caller: it goes on if the caller's context ends,
// because others may be waiting for it, and it does not count as a heavy read of the caller's API key.
func (r *shared[T]) get(ctx context.Context, valid func(T) bool, compute func(context.Context) (T, error)) (T, error) {
	before := r.begun.Load()
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return *new(T), UnavailableError(ctx.Err())
	}
	defer func() { <-r.turn }()
	if r.last > before || r.last > 0 && r.err == nil && valid(r.value) {
		return r.value, r.err
	}
	number := r.begun.Add(1)
	value, err := compute(WithPrincipal(context.WithoutCancel(ctx), Principal{}))
	r.last, r.value, r.err = number, value, err
	return value, err
}
