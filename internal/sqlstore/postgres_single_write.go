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
