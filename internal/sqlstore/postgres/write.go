package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/admission"
	"animalstore/internal/sqlstore/engine"
)

// lockWaitDivisor determines how long one attempt of a write that runs alone waits for a lock: for its whole time divided
// by lockWaitDivisor.
const lockWaitDivisor = 20

// Write runs o.Declared in a group. Declared describes the rows that the write needs and what it does with them. If it is
// nil, or if the group returns engine.ErrAlone because it cannot run the write, Write runs alone in a transaction of its
// own, within the rest of the write's time.
func (e *Engine) Write(ctx context.Context, o engine.WriteOptions, alone func(*engine.Tx) (engine.Touched, error)) error {
	if err := ctx.Err(); err != nil {
		return engine.EndedError(err)
	}
	if o.Declared == nil {
		return e.writeAlone(ctx, context.WithoutCancel(ctx), o, alone)
	}
	deadline := time.Now().Add(max(e.timeout, o.Timeout))
	queued, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	grouped := engine.WriteOptions{Key: o.Key, Declared: o.Declared} // only the SQLite engine has priorities
	if err := e.groups.queue.Do(engine.NewWrite(queued, grouped, nil)); !errors.Is(err, engine.ErrAlone) {
		return err
	}
	if err := ctx.Err(); err != nil {
		return engine.EndedError(err) // the group has not done the write, and a client that has gone may send it elsewhere
	}
	left, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	return e.writeAlone(ctx, left, o, alone)
}

// newAloneWrites returns the slots for writes that run alone. These writes use at most half of the connections. The
// other connections remain for groups and reads, which never wait long for the locks of other transactions. One key gets
// half of the slots, so that its writes do not hold up those of other keys.
func newAloneWrites(maxConns int32) *admission.Semaphore {
	return admission.NewSemaphore(admission.SingleWrites.Limit().Sized(max(1, int(maxConns)/2)))
}

// acquireAlone waits for a slot for a write that runs alone until ctx or caller ends.
func (e *Engine) acquireAlone(caller, ctx context.Context, key string) (admission.Slot, error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(caller, cancel)()
	slot, err := e.aloneWrites.Acquire(waiting, key)
	if err == nil {
		return slot, nil
	}
	// If waiting was cancelled because ctx or caller has ended, say which of them, because only a deadline is a timeout.
	err = cmp.Or(ctx.Err(), caller.Err(), err)
	return slot, engine.EndedError(fmt.Errorf("all connections for single writes, or this key's share of them, are in use: %w", err))
}

// aloneOptions returns the options for the transaction of a write that runs alone. A write that may take a long time,
// such as an import, waits longer for a lock, because it is expensive to repeat.
func (e *Engine) aloneOptions(timeout time.Duration) pgx.TxOptions {
	wait := max(time.Millisecond, max(e.timeout, timeout)/lockWaitDivisor)
	return pgx.TxOptions{
		BeginQuery: fmt.Sprintf("BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL lock_timeout = %d", wait.Milliseconds()),
	}
}

// writeAlone runs fn in a SERIALIZABLE transaction, and retries it until ctx ends. If caller ends, the current attempt
// continues, because its transaction may be nearly committed. But there are no further attempts, because the client may
// already have sent its request to another node. A delayed attempt here could overwrite what that node has written
// since.
//
// fn returns what it has touched: bits whose meaning only the caller knows. In the end, writeAlone passes the bits of all
// attempts to Options.AfterWrite, so that the caller can wake up its readers or drop cached data.
//
// While an attempt is waiting for a lock, it occupies a connection. A write therefore needs a slot, and an attempt
// gives up when it has waited for a lock for a while. The write then leaves its slot to another write and waits for a
// new slot. After a conflict, it keeps its slot, so that its key does not start more and more writes that conflict.
func (e *Engine) writeAlone(caller, ctx context.Context, o engine.WriteOptions, fn func(*engine.Tx) (engine.Touched, error)) error {
	var touched engine.Touched
	var slot admission.Slot
	defer func() { slot.Release() }()
	err := e.retry(caller, ctx, o, func(ctx context.Context) (err error) {
		if !slot.Held() {
			if slot, err = e.acquireAlone(caller, ctx, o.Key); err != nil {
				return err
			}
		}
		defer func() {
			if !isLostRace(err) {
				slot.Release()
			}
		}()
		commitID := newCommitID()
		var lost error // the reason why the outcome of COMMIT is not known
		err = e.transaction(ctx, e.aloneOptions(o.Timeout), func(t *engine.Tx, commit func() error) error {
			changes, err := fn(t)
			touched |= changes
			if err = t.Outcome(err); err == nil {
				err = t.Exec(insertOutcome, commitID)
			}
			if err != nil {
				return err
			}
			if err = commit(); err == nil {
				return nil
			}
			if !isRolledBack(err) {
				lost = err
			}
			return convertError(err)
		})
		if lost != nil {
			return e.resolveCommit(ctx, commitID, lost)
		}
		return err
	})
	e.options.AfterWrite(touched, err == nil)
	return err
}
