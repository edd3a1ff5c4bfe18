package sqlstore

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"animalstore/internal/shop"
)

// maxGroup is the maximum number of writes that share one commit. It limits how long the first write waits
// for the last one.
const maxGroup = 256

// writeQueue passes writes to the goroutines that commit them in groups.
type writeQueue struct {
	members chan *member

	// mu is read-locked while a member is being queued, so that close waits until the member is in the channel.
	mu     sync.RWMutex
	closed bool
}

// member is one of the writes in a group.
type member struct {
	ctx context.Context
	shop.Writing
	fn    func(shop.WriteTx) error
	err   error
	panic any
	done  chan struct{} // closed when err and panic have their final values
	begun bool
	taken atomic.Bool // whether the member has begun, or write has returned without running it
}

func newWriteQueue() *writeQueue { return &writeQueue{members: make(chan *member, maxGroup)} }

// write queues fn and returns when its group has been committed or has failed. If ctx ends before fn runs, write
// returns without waiting for the group, and fn never runs.
func (q *writeQueue) write(ctx context.Context, w shop.Writing, fn func(shop.WriteTx) error) error {
	m := &member{ctx: ctx, Writing: w, fn: fn, done: make(chan struct{})}
	if err := q.accept(m); err != nil {
		return endedError(err)
	}
	select {
	case <-m.done:
	case <-ctx.Done():
		if m.taken.CompareAndSwap(false, true) {
			return endedError(ctx.Err())
		}
		<-m.done
	}
	if m.panic != nil {
		panic(m.panic) // panic in the caller's goroutine, where the panic can be recovered
	}
	return m.err
}

func (q *writeQueue) accept(m *member) error {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		return errClosed
	}
	select {
	case q.members <- m:
		return nil
	case <-m.ctx.Done():
		return m.ctx.Err()
	}
}

// close refuses new writes. The queued ones can still be received.
func (q *writeQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.members)
	}
}

// join adds the next queued write to the group, if there is one.
func (q *writeQueue) join(group []*member) []*member {
	select {
	case m, ok := <-q.members:
		if ok {
			return append(group, m)
		}
	default:
	}
	return group
}

// begin returns an error if the member must not run because its context has ended. A member may begin again
// after its transaction was rolled back.
func (m *member) begin() error {
	if m.ctx.Err() == nil && (m.begun || m.taken.CompareAndSwap(false, true)) {
		m.begun = true
		return nil
	}
	return endedError(m.ctx.Err())
}

// call runs the member's function. If the function panics, call saves the panic, and write raises it in the
// caller's goroutine.
func (m *member) call(tx shop.WriteTx) error {
	defer func() {
		if p := recover(); p != nil {
			m.panic = fmt.Sprintf("%v\n\nin a write:\n%s", p, debug.Stack())
		}
	}()
	return m.fn(tx)
}

// finish lets the calls of write for these members return. If err is not nil, it is returned instead of the members'
// own errors.
func finish(group []*member, err error) {
	for _, m := range group {
		if err != nil {
			m.err = err
		}
		close(m.done)
	}
}
