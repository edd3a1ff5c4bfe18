package sqlstore

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"animalstore/internal/shop"
)

// connState is what is known of a connection.
type connState struct {
	epoch      int64       // in which it was made
	committing atomic.Bool // its COMMIT was sent
	usedAt     time.Time   // when it was given back, or made
}

const connStateKey = "animalstore"

func stateOf(conn *pgx.Conn) *connState {
	return conn.PgConn().CustomData()[connStateKey].(*connState)
}

// trackConn gives the connection that is about to be made its state.
//
// The driver asks a server to cancel whatever got no answer in time. A COMMIT must not be: a primary that waits for its
// synchronous replica would stop waiting, and show to everybody what a failover may still undo.
func (p *postgresEngine) trackConn(_ context.Context, config *pgx.ConnConfig) error {
	dial, state := config.DialFunc, &connState{}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if state.committing.Load() {
			return nil, errors.New("a COMMIT is not cancelled")
		}
		return dial(ctx, network, address)
	}
	config.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		state.epoch, state.usedAt = p.epoch.Load(), time.Now()
		conn.CustomData()[connStateKey] = state
		return nil
	}
	return nil
}

// withConn runs fn with a connection. One on which something broke is not used again.
func (p *postgresEngine) withConn(ctx context.Context, fn func(*pgx.Conn) error) (err error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { p.release(ctx, conn, err) }()
	return fn(conn.Conn())
}

func (p *postgresEngine) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	for {
		began := time.Now()
		conn, err := p.pool.Acquire(ctx)
		if err != nil && p.closed.Load() {
			return nil, shop.UnavailableError(errClosed)
		}
		if err != nil {
			p.countFailedWait(ctx, began)
			return nil, err
		}
		if p.isUsable(ctx, conn.Conn()) {
			stateOf(conn.Conn()).committing.Store(false)
			return conn, nil
		}
		discard(conn)
	}
}

// isUsable tells whether a connection leads to where the server is now. It asks a server that was not heard of for a while,
// and gives it little time for the answer; where none comes, no other connection of that era is asked.
func (p *postgresEngine) isUsable(ctx context.Context, conn *pgx.Conn) bool {
	state := stateOf(conn)
	if state.epoch != p.epoch.Load() {
		return false
	}
	if time.Since(state.usedAt) < time.Second {
		return true
	}
	limit, cancel := context.WithTimeout(ctx, pgPingTimeout)
	defer cancel()
	if err := conn.Ping(limit); err != nil {
		p.startEpoch(ctx, state.epoch)
		return false
	}
	return true
}

// release gives a connection back after what was done with it failed with err, or did not. Where the server is gone, all other
// connections of its era are not used again either: each of them would cost somebody a try, or all of the time there is where
// the server is silent.
func (p *postgresEngine) release(ctx context.Context, conn *pgxpool.Conn, err error) {
	state, inner := stateOf(conn.Conn()), conn.Conn().PgConn()
	if isServerLost(err) {
		p.startEpoch(ctx, state.epoch)
	}
	if inner.IsClosed() || inner.TxStatus() != 'I' || isRetryable(err) && !isConflict(err) {
		discard(conn)
		return
	}
	state.usedAt = time.Now()
	conn.Release()
}

// discard closes a connection. The pool itself would keep its place until the driver is done with closing, which takes 15 seconds
// where the server is silent: enough of these, and there would be none left to reach another server with.
func discard(conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), pgPingTimeout)
	defer cancel()
	conn.Hijack().Close(ctx)
}

// startEpoch notes that the server is gone to which there were connections in this era.
func (p *postgresEngine) startEpoch(ctx context.Context, era int64) {
	if !errors.Is(ctx.Err(), context.Canceled) { // a caller that went away says nothing about the server
		p.epoch.CompareAndSwap(era, era+1)
	}
}
