package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// MaxGroup is the maximum number of writes that share one commit. It limits how long the first write waits for the
// last one.
const MaxGroup = 256

// Queue passes writes to the goroutines that commit them in groups.
type Queue struct {
	Writes chan *Write

	// mu is read-locked while a write is being queued, so that Close waits until the write is in the channel.
	mu     sync.RWMutex
	closed bool
}

// Write is a write in a queue or in a group.
type Write struct {
	Ctx      context.Context
	Declared any                        // the write as a unit runs it, or nil
	Alone    func(*Tx) (Touched, error) // the write as it runs alone; nil if the queue is only for units
	Err      error
	Panic    any
	done     chan struct{} // closed when Err and Panic have their final values
	begun    bool
	taken    atomic.Bool // whether the write has begun, or Do has returned without running it
}

// NewQueue returns an empty queue.
func NewQueue() *Queue { return &Queue{Writes: make(chan *Write, MaxGroup)} }

// NewWrite returns a write that has not been queued yet.
func NewWrite(ctx context.Context, declared any, alone func(*Tx) (Touched, error)) *Write {
	return &Write{Ctx: ctx, Declared: declared, Alone: alone, done: make(chan struct{})}
}

// Do queues a write and returns when its group has been committed or has failed. If the write's context ends before
// the write has begun, Do returns without waiting for the group, and the write never runs.
func (q *Queue) Do(w *Write) error {
	if err := q.accept(w); err != nil {
		return err
	}
	select {
	case <-w.done:
	case <-w.Ctx.Done():
		if w.taken.CompareAndSwap(false, true) {
			return EndedError(w.Ctx.Err())
		}
		<-w.done
	}
	if w.Panic != nil {
		panic(w.Panic) // panic in the caller's goroutine, where the panic can be recovered
	}
	return w.Err
}

func (q *Queue) accept(w *Write) error {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		return ClosedError()
	}
	select {
	case q.Writes <- w:
		return nil
	case <-w.Ctx.Done():
		return EndedError(w.Ctx.Err())
	}
}

// Close refuses new writes. The queued ones can still be received.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.Writes)
	}
}

// Join adds the next queued write to the group, if there is one.
func (q *Queue) Join(group []*Write) []*Write {
	select {
	case w, ok := <-q.Writes:
		if ok {
			return append(group, w)
		}
	default:
	}
	return group
}

// Begin returns an error if the write must not run because its context has ended. A write may begin again after its
// transaction was rolled back.
func (w *Write) Begin() error {
	if w.Ctx.Err() == nil && (w.begun || w.taken.CompareAndSwap(false, true)) {
		w.begun, w.Panic = true, nil
		return nil
	}
	return EndedError(w.Ctx.Err())
}

// Call runs fn. If fn panics, Call saves the panic, and Do raises it in the caller's goroutine.
func (w *Write) Call(fn func() error) error {
	defer func() {
		if p := recover(); p != nil {
			w.Panic = fmt.Sprintf("%v\n\nin a write:\n%s", p, debug.Stack())
		}
	}()
	return fn()
}

// Finish lets the calls of Do for these writes return. If err is not nil, it replaces the writes' own errors.
func Finish(group []*Write, err error) {
	for _, w := range group {
		if err != nil {
			w.Err = err
		}
		close(w.done)
	}
}
