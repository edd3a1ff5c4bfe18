package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"animalstore/internal/shop"
)

// connState is the engine's own information about a connection. trackConn attaches it to the connection.
type connState struct {
	epoch      int64       // the engine's epoch when the connection was opened
	committing atomic.Bool // whether a COMMIT may be in progress
	lastUsed   time.Time   // when the connection was opened or last released
}

const connStateKey = "animalstore"

func stateOf(conn *pgx.Conn) *connState {
	return conn.PgConn().CustomData()[connStateKey].(*connState)
}

// trackConn attaches a connState to a connection that is about to be opened.
//
// When a statement times out, pgx dials the server again to cancel the statement. It must not cancel a
// COMMIT. A primary that is waiting for its synchronous replica would stop waiting and show everybody a write
// that a failover can still undo. Therefore dialling fails while committing is set.
func (p *postgresEngine) trackConn(_ context.Context, config *pgx.ConnConfig) error {
	dial, state := config.DialFunc, &connState{}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if state.committing.Load() {
			return nil, errors.New("a COMMIT is never cancelled")
		}
		return dial(ctx, network, address)
	}
	config.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		state.epoch, state.lastUsed = p.epoch.Load(), time.Now()
		conn.CustomData()[connStateKey] = state
		return nil
	}
	return nil
}

// withConn runs fn with a connection from the pool and releases the connection afterwards.
func (p *postgresEngine) withConn(ctx context.Context, fn func(*pgx.Conn) error) (err error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { p.release(ctx, conn, err) }()
	return fn(conn.Conn())
}

// acquire returns a usable connection from the current epoch. The caller must pass it to release.
func (p *postgresEngine) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	for {
		start := time.Now()
		conn, err := p.pool.Acquire(ctx)
		if err != nil {
			return nil, p.acquireError(ctx, time.Since(start), err)
		}
		if p.isUsable(ctx, conn.Conn()) {
			stateOf(conn.Conn()).committing.Store(false)
			return conn, nil
		}
		discard(conn)
	}
}

// errNoConnection marks a request that timed out while the pool was still connecting to a server.
var errNoConnection = errors.New("no connection")

// acquireError explains why the pool returned no connection. If ctx has ended, err is just ctx.Err(), so
// acquireError adds the reason. It also counts waits that failed because every connection was in use, because
// pgxpool counts only waits that end with a connection.
func (p *postgresEngine) acquireError(ctx context.Context, waited time.Duration, err error) error {
	stat := p.pool.Stat()
	switch {
	case p.closed.Load():
		return shop.UnavailableError(errClosed)
	case ctx.Err() != nil && stat.AcquiredConns() == stat.MaxConns():
		p.failedWaits.Add(1)
		p.failedWaitTime.Add(int64(waited))
		return fmt.Errorf("all %d connections are in use: %w", stat.MaxConns(), err)
	case ctx.Err() != nil && stat.ConstructingConns() > 0:
		return fmt.Errorf("%w to %s: %w", errNoConnection, p.hosts(), err)
	}
	return err
}

// hosts returns the addresses of all servers in the URL, separated by commas.
func (p *postgresEngine) hosts() string {
	address := func(host string, port uint16) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
	hosts := []string{address(p.config.Host, p.config.Port)}
	for _, fallback := range p.config.Fallbacks {
		hosts = append(hosts, address(fallback.Host, fallback.Port))
	}
	return strings.Join(slices.Compact(hosts), ", ")
}

// isUsable reports whether a connection is from the current epoch and its server still responds. It pings the
// server only if the connection was idle for at least a second. If the ping fails, a new epoch starts. A
// silent server therefore costs only one ping and not one ping for every connection.
func (p *postgresEngine) isUsable(ctx context.Context, conn *pgx.Conn) bool {
	state := stateOf(conn)
	if state.epoch != p.epoch.Load() {
		return false
	}
	if time.Since(state.lastUsed) < time.Second {
		return true
	}
	limited, cancel := context.WithTimeout(ctx, pgPingTimeout)
	defer cancel()
	if err := conn.Ping(limited); err != nil {
		p.startEpoch(ctx, state.epoch)
		return false
	}
	return true
}

// release returns a connection to the pool. If the connection is closed, still in a transaction, or possibly
// broken, release discards it instead. err is the error returned by the last operation, or nil. If err means
// that the server is lost, a new epoch starts. Otherwise, every other connection to that server would cost
// some later request an attempt, or its whole budget if the server is silent.
func (p *postgresEngine) release(ctx context.Context, conn *pgxpool.Conn, err error) {
	state, pgConn := stateOf(conn.Conn()), conn.Conn().PgConn()
	if isServerLost(err) {
		p.startEpoch(ctx, state.epoch)
	}
	if pgConn.IsClosed() || pgConn.TxStatus() != 'I' || isRetryable(err) && !isConflict(err) {
		discard(conn)
		return
	}
	state.lastUsed = time.Now()
	conn.Release()
}

// discard removes a connection from the pool and closes it. pgxpool itself would keep the connection's slot
// until pgx has closed the connection, which takes 15 seconds if the server is silent. If all slots were
// occupied in this way, the pool could not connect to another server.
func discard(conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), pgPingTimeout)
	defer cancel()
	conn.Hijack().Close(ctx)
}

// startEpoch ends the given epoch, unless another request has already ended it.
func (p *postgresEngine) startEpoch(ctx context.Context, ended int64) {
	if !errors.Is(ctx.Err(), context.Canceled) { // a cancelled request says nothing about the server
		p.epoch.CompareAndSwap(ended, ended+1)
	}
}
