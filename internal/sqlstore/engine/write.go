package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// Write is a write in a queue or in a group.
type Write struct {
	WriteOptions
	Ctx   context.Context
	Alone func(*Tx) (Touched, error) // the write as it runs alone; nil if the queue has only writes for units
	Err   error
	Panic any
	done  chan struct{} // closed when Err and Panic have their final values
	begun bool          // whether Begin has succeeded
	taken atomic.Bool   // whether the write has begun, or Do has returned without running it
}

// NewWrite returns a write that has not been queued yet.
func NewWrite(ctx context.Context, o WriteOptions, alone func(*Tx) (Touched, error)) *Write {
	return &Write{WriteOptions: o, Ctx: ctx, Alone: alone, done: make(chan struct{})}
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
