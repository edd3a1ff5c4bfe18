package postgres

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// connectTimeout is the default time limit for connecting to one of the servers in the URL.
	connectTimeout = 2 * time.Second
	// defaultCancelTimeout is the default of Engine.cancelTimeout.
	defaultCancelTimeout = time.Second
)

// connState is the engine's own information about a connection. configureConn attaches it to the connection.
type connState struct {
	epoch      int64       // the engine's epoch when the connection was opened
	committing atomic.Bool // whether a COMMIT may be in progress
	lastUsed   time.Time   // when the connection was opened or last released
}

const connStateKey = "animalstore"

func stateOf(conn *pgx.Conn) *connState {
	return conn.PgConn().CustomData()[connStateKey].(*connState)
}

// configureConn attaches a connState to a connection that is about to be opened.
//
// When the context of a statement ends, pgx dials the server again to cancel the statement. If the server confirms this
// within cancelTimeout, it is alive and the statement was merely slow. pgx must not cancel a COMMIT. A primary that is
// waiting for its synchronous replica would then stop waiting, and everybody could see a write that a failover can
// still undo. Therefore dialling fails while committing is set.
func (e *Engine) configureConn(_ context.Context, config *pgx.ConnConfig) error {
	dial, state := config.DialFunc, &connState{}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if state.committing.Load() {
			return nil, errors.New("a COMMIT is never cancelled")
		}
		return dial(ctx, network, address)
	}
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: e.cancelTimeout}
	}
	config.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		state.epoch, state.lastUsed = e.epoch.Load(), time.Now()
		conn.CustomData()[connStateKey] = state
		return nil
	}
	return nil
}

// discard removes a connection from the pool and closes it. pgxpool itself would keep the connection's slot
// until pgx has closed the connection, which takes 15 seconds if the server is silent. If all slots were
// occupied in this way, the pool could not connect to another server.
func discard(conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	conn.Hijack().Close(ctx)
}

// startEpoch starts the epoch that follows the given one, unless another request has already started it.
func (e *Engine) startEpoch(ctx context.Context, ended int64) {
	if !errors.Is(ctx.Err(), context.Canceled) { // a cancelled request says nothing about the server
		e.epoch.CompareAndSwap(ended, ended+1)
	}
}
