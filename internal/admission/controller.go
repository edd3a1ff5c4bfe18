// Package admission limits how much of a node each API key may use, at the same time and per second. All limits are in
// limits.go, and there are two mechanisms: Semaphore and Rate. The package imports nothing of ours, so that every other
// package can use it.
package admission

import (
	"context"
	"fmt"
	"runtime"
)

// Controller holds the limits of a node. The API and the staff pages share one.
type Controller struct {
	semaphores [HeavyReads]*Semaphore
	// RequestRate limits how many requests each key may send per second.
	RequestRate *Rate
	// FailedSignIns limits how often each network address may try to sign in and fail.
	FailedSignIns *Rate
}

// New returns a controller with the limits of the table, none of which is in use yet. requestsPerSecond is the limit for
// each key. 0 means no limit.
func New(requestsPerSecond int) *Controller {
	c := &Controller{
		RequestRate:   NewRate(requestsPerSecond, burstSeconds*requestsPerSecond),
		FailedSignIns: NewRate(failuresPerSecond, maxFailures),
	}
	for kind := range c.semaphores {
		c.semaphores[kind] = NewSemaphore(Kind(kind).Limit())
	}
	c.Replace(PhotoConversions, PhotoConversions.Limit().Sized(max(1, runtime.GOMAXPROCS(0)/2)))
	return c
}

// Replace replaces a limit. It must be called before the first operation.
func (c *Controller) Replace(kind Kind, limit Limit) { c.semaphores[kind] = NewSemaphore(limit) }

// Acquire waits until an operation of this kind may run with this key, as Semaphore.Acquire does.
func (c *Controller) Acquire(ctx context.Context, kind Kind, key string) (Slot, error) {
	return c.semaphores[kind].Acquire(ctx, key)
}

// AwaitN waits until an operation of this kind that weighs as much as n others may run with this key, as
// Semaphore.AwaitN does.
func (c *Controller) AwaitN(ctx context.Context, kind Kind, key string, n int) (Slot, error) {
	return c.semaphores[kind].AwaitN(ctx, key, n)
}

// AcquireN counts an operation that weighs as much as n others, as Semaphore.AcquireN does.
func (c *Controller) AcquireN(kind Kind, key string, n int) (Slot, error) {
	return c.semaphores[kind].AcquireN(key, n)
}

// HoldBody counts the memory of a request body or a response. It fails with a Refusal. Small bodies, and bodies of
// requests without a key, do not count, because other limits suffice for them.
func (c *Controller) HoldBody(key string, size int64) (Slot, error) {
	if size <= smallBody || key == "" {
		return Slot{}, nil
	}
	return c.AcquireN(BodyMemory, key, int(size))
}

// Refusal is the error of an operation that is not admitted. Its message is meant for clients.
type Refusal struct {
	Limit    Limit
	ByKey    bool // whether the key has used up its share; otherwise all keys together have used up the total
	TimedOut bool // whether the operation has waited for as long as it may
}

func (r *Refusal) Error() string {
	operations := r.Limit.Operations
	if r.Limit.Queue > 0 {
		operations += " waiting"
	}
	switch {
	case r.TimedOut:
		return r.Limit.Late
	case r.ByKey:
		return fmt.Sprintf("This API key has too many %s at once; its limit is %d per node.", operations, r.Limit.PerKey+r.Limit.KeyQueue)
	}
	return fmt.Sprintf("There are too many %s at once; try again shortly.", operations)
}
