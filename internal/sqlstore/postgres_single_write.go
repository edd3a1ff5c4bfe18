package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/shop"
)

// lockWaitShare determines how long one attempt of a write outside of groups waits for a lock: for the retry budget
// divided by lockWaitShare.
const lockWaitShare = 20

// newSingleWritePlaces returns places for writes outside of groups. These writes use at most half of the connections. The
// other connections remain for groups and reads, which never wait long for the locks of other transactions. One API key
// gets half of the places, so that its writes do not hold up those of other keys.
func newSingleWritePlaces(maxConns int32) *shop.Places {
	return shop.NewPlaces(max(1, int(maxConns)/2), max(1, int(maxConns)/4))
}

// singleWritePlace is the place of a write outside of groups. The write may acquire and release its place several times.
type singleWritePlace struct {
	places *shop.Places
	key    string
	held   bool
}

// acquire waits for a place until ctx or caller ends. If the write already has a place, acquire does nothing.
func (a *singleWritePlace) acquire(caller, ctx context.Context) error {
	if a.held {
		return nil
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(caller, cancel)()
	if a.held = a.places.Acquire(waiting, a.key) == nil; a.held {
		return nil
	}
	err := ctx.Err()
	if err == nil {
		err = caller.Err()
	}
	return endedError(fmt.Errorf("all connections for single writes are in use: %w", err))
}

// release frees the place if the write has one.
func (a *singleWritePlace) release() {
	if a.held {
		a.places.Release(a.key)
		a.held = false
	}
}

// singleWriteOptions returns the options for the transaction of a write outside of groups. A write with a long budget,
// such as an import, waits longer for a lock, because it is expensive to repeat.
func (p *postgresEngine) singleWriteOptions(ctx context.Context) pgx.TxOptions {
	wait := max(time.Millisecond, p.budgetOf(ctx)/lockWaitShare)
	return pgx.TxOptions{
		BeginQuery: fmt.Sprintf("BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL lock_timeout = %d", wait.Milliseconds()),
	}
}

// writeSingle runs fn in a SERIALIZABLE transaction, and retries it until ctx ends. If caller ends, the current attempt
// continues, because its transaction may be nearly committed. But there are no further attempts, because the client may
// already have sent its request to another node. A delayed attempt here could overwrite what that node has written
// since.
//
// While an attempt is waiting for a lock, it occupies a connection. A write therefore needs a place, and an attempt
// gives up when it has waited for a lock for a while. The write then leaves its place to another write and waits for a
// new place. After a conflict, it keeps its place, so that its API key does not start more and more writes that
// conflict.
func (p *postgresEngine) writeSingle(caller, ctx context.Context, fn func(shop.WriteTx) error) error {
	var changes effects
	place := singleWritePlace{places: p.singleWrites, key: shop.ActorOf(caller)}
	defer place.release()
	err := p.retry(caller, ctx, func(ctx context.Context) (err error) {
		if err := place.acquire(caller, ctx); err != nil {
			return err
		}
		defer func() {
			if !isLostRace(err) {
				place.release()
			}
		}()
		commitID := newCommitID()
		var lost error // the reason why the outcome of COMMIT is not known
		err = p.transaction(ctx, p.singleWriteOptions(ctx), func(t *tx, commit func() error) error {
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
