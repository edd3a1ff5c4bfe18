package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
)

// lockWaitShare determines how long one attempt of a write outside of groups waits for a lock: for the retry budget
// divided by lockWaitShare.
const lockWaitShare = 20

// newSingleWriteSlots returns the slots for writes outside of groups. These writes use at most half of the connections.
// The other connections remain for groups and reads, which never wait long for the locks of other transactions. One API
// key gets half of the slots, so that its writes do not hold up those of other keys.
func newSingleWriteSlots(maxConns int32) *admission.Semaphore {
	return admission.NewSemaphore(admission.SingleWrites.Limit().Sized(max(1, int(maxConns)/2)))
}

// acquireSingleWrite waits for a slot for a write outside of groups until ctx or caller ends.
func (p *postgresEngine) acquireSingleWrite(caller, ctx context.Context, key string) (admission.Slot, error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(caller, cancel)()
	slot, err := p.singleWrites.Acquire(waiting, key)
	if err == nil {
		return slot, nil
	}
	if err = ctx.Err(); err == nil {
		err = caller.Err()
	}
	return slot, endedError(fmt.Errorf("all connections for single writes are in use: %w", err))
}

// singleWriteOptions returns the options for the transaction of a write outside of groups. A write with a long budget,
// such as an import, waits longer for a lock, because it is expensive to repeat.
func (p *postgresEngine) singleWriteOptions(budget time.Duration) pgx.TxOptions {
	wait := max(time.Millisecond, max(p.retryBudget, budget)/lockWaitShare)
	return pgx.TxOptions{
		BeginQuery: fmt.Sprintf("BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL lock_timeout = %d", wait.Milliseconds()),
	}
}

// writeSingle runs fn in a SERIALIZABLE transaction, and retries it until ctx ends. If caller ends, the current attempt
// continues, because its transaction may be nearly committed. But there are no further attempts, because the client may
// already have sent its request to another node. A delayed attempt here could overwrite what that node has written
// since.
//
// While an attempt is waiting for a lock, it occupies a connection. A write therefore needs a slot, and an attempt
// gives up when it has waited for a lock for a while. The write then leaves its slot to another write and waits for a
// new slot. After a conflict, it keeps its slot, so that its API key does not start more and more writes that
// conflict.
func (p *postgresEngine) writeSingle(caller, ctx context.Context, w shop.Writing, fn func(shop.WriteTx) error) error {
	var changes effects
	var slot admission.Slot
	defer func() { slot.Release() }()
	err := p.retry(caller, ctx, w.By.Actor(), w.Budget, func(ctx context.Context) (err error) {
		if !slot.Held() {
			if slot, err = p.acquireSingleWrite(caller, ctx, w.By.Actor()); err != nil {
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
		err = p.transaction(ctx, p.singleWriteOptions(w.Budget), func(t *tx, commit func() error) error {
			defer func() { changes.add(t.effects) }()
			err := t.run(func() error {
				if err := fn(t); err != nil {
					return err
				}
				return t.exec(insertCommit, commitID)
			})
			if err != nil {
				return err
			}
			if err = commit(); err == nil {
				return nil
			}
			// After a conflict, the server has certainly rolled the transaction back.
			if !isConflict(err) {
				lost = err
			}
			return p.dialect.convertError(err)
		})
		if lost != nil {
			return p.resolveCommit(ctx, commitID, lost)
		}
		return err
	})
	p.afterWrite(changes, err == nil)
	return err
}
