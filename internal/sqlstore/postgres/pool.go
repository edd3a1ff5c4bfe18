package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"animalstore/internal/sqlstore/engine"
)

const (
	// defaultMaxConns is the default maximum number of connections in the pool.
	defaultMaxConns = 32
	// leastMaxConns is the smallest maximum. A write that runs alone may read on a second connection while it holds its
	// own. Such writes use at most half of the connections, so two are enough.
	leastMaxConns = 2
	// idleTime is how long a connection may be idle before its server may be lost. After that, acquire pings the server,
	// and a single query gets only pingTimeout at first.
	idleTime = time.Second
	// pingTimeout is how long a server may take to answer a ping, and how long closing a connection may take.
	pingTimeout = time.Second
)

// poolSettings limits how many connections a node keeps open and for how long. The URL may set the limits
// with the parameters that pgxpool defines: pool_max_conns, pool_max_conn_idle_time and
// pool_max_conn_lifetime.
type poolSettings struct {
	maxConns    int32
	maxIdleTime time.Duration
	maxLifetime time.Duration
}

// takePoolSettings returns the pool settings from the parameters in config, with defaults for missing
// parameters. It removes these parameters from config, because the server would reject them. It returns an
// error if a value is invalid or too small.
func takePoolSettings(config *pgx.ConnConfig) (settings poolSettings, err error) {
	settings = poolSettings{maxConns: defaultMaxConns, maxIdleTime: 5 * time.Minute, maxLifetime: time.Hour}
	take := func(name string) (text string, given bool) {
		text, given = config.RuntimeParams[name]
		delete(config.RuntimeParams, name)
		return text, given
	}
	if text, given := take("pool_max_conns"); given {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < leastMaxConns {
			return settings, fmt.Errorf("pool_max_conns: %q is not a whole number of at least %d", text, leastMaxConns)
		}
		settings.maxConns = int32(n)
	}
	for name, setting := range map[string]*time.Duration{
		"pool_max_conn_idle_time": &settings.maxIdleTime,
		"pool_max_conn_lifetime":  &settings.maxLifetime,
	} {
		text, given := take(name)
		if !given {
			continue
		}
		if *setting, err = time.ParseDuration(text); err != nil || *setting <= 0 {
			return settings, fmt.Errorf("%s: %q is not a duration such as 30m", name, text)
		}
	}
	return settings, nil
}

// newPool returns a pool that has no connections yet. The pool does not ping idle connections, because
// acquire decides whether a connection is usable.
func (e *Engine) newPool(settings poolSettings) (*pgxpool.Pool, error) {
	// pgxpool accepts only a configuration that it has parsed itself. All fields that matter are replaced
	// below.
	config, err := pgxpool.ParseConfig(e.config.ConnString())
	if err != nil {
		return nil, withoutURL(err)
	}
	config.ConnConfig, config.MaxConns, config.MinConns, config.MinIdleConns = e.config, settings.maxConns, 0, 0
	config.MaxConnIdleTime, config.MaxConnLifetime, config.MaxConnLifetimeJitter = settings.maxIdleTime, settings.maxLifetime, 0
	// Health checks must be frequent compared to these limits, because only a health check closes expired connections.
	config.HealthCheckPeriod = max(time.Second, min(settings.maxIdleTime, settings.maxLifetime)/30)
	config.BeforeConnect = e.configureConn
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	return pgxpool.NewWithConfig(context.Background(), config)
}

// withConn runs fn with a connection from the pool and releases the connection afterwards.
func (e *Engine) withConn(ctx context.Context, fn func(*pgx.Conn) error) (err error) {
	conn, err := e.acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { e.release(ctx, conn, err) }()
	return fn(conn.Conn())
}

// acquire returns a connection from the current epoch whose server responds. The caller must pass it to release.
// It pings the server only if the connection was idle for a while. If the ping fails, a new epoch starts. A silent
// server therefore costs only one ping and not one ping for every connection.
func (e *Engine) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	for {
		conn, idle, err := e.acquireUnpinged(ctx)
		if err != nil || !idle {
			return conn, err
		}
		limited, cancel := context.WithTimeout(ctx, pingTimeout)
		err = conn.Conn().Ping(limited)
		cancel()
		if err == nil {
			return conn, nil
		}
		e.startEpoch(ctx, stateOf(conn.Conn()).epoch)
		discard(conn)
	}
}

// acquireUnpinged is like acquire, but does not ping the server. It reports whether the connection was idle for so
// long that the server may be lost.
func (e *Engine) acquireUnpinged(ctx context.Context) (conn *pgxpool.Conn, idle bool, err error) {
	for {
		start := time.Now()
		conn, err := e.pool.Acquire(ctx)
		if err != nil {
			return nil, false, e.acquireError(ctx, time.Since(start), err)
		}
		if e.isCurrent(conn.Conn()) {
			state := stateOf(conn.Conn())
			state.committing.Store(false)
			return conn, time.Since(state.lastUsed) >= idleTime, nil
		}
		discard(conn)
	}
}

// isCurrent reports whether a connection is from the current epoch and its server is on the newest timeline.
func (e *Engine) isCurrent(conn *pgx.Conn) bool {
	return stateOf(conn).epoch == e.epoch.Load() && !e.timelines.isOutdated(timelineOf(conn))
}

// errNoConnection marks a request that timed out while the pool was still connecting to a server.
var errNoConnection = errors.New("no connection")

// acquireError explains why the pool returned no connection. If ctx has ended, err is just ctx.Err(), so acquireError
// adds the reason. It also counts waits that failed because every connection was in use. pgxpool counts only waits that
// end with a connection.
func (e *Engine) acquireError(ctx context.Context, waited time.Duration, err error) error {
	stat := e.pool.Stat()
	switch {
	case e.closed.Load():
		return engine.ClosedError()
	case ctx.Err() != nil && stat.AcquiredConns() == stat.MaxConns():
		e.failedWaits.Add(1)
		e.failedWaitTime.Add(int64(waited))
		return fmt.Errorf("all %d connections are in use: %w", stat.MaxConns(), err)
	case ctx.Err() != nil && stat.ConstructingConns() > 0:
		return fmt.Errorf("%w to %s: %w", errNoConnection, e.hosts(), err)
	}
	return err
}

// hosts returns the addresses of all servers in the URL, separated by commas.
func (e *Engine) hosts() string {
	address := func(host string, port uint16) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
	hosts := []string{address(e.config.Host, e.config.Port)}
	for _, fallback := range e.config.Fallbacks {
		hosts = append(hosts, address(fallback.Host, fallback.Port))
	}
	return strings.Join(slices.Compact(hosts), ", ")
}

// release returns a connection to the pool. If the connection is closed, still in a transaction, or possibly broken,
// release discards it instead. err is the error returned by the last operation, or nil. If err means that the server is
// lost, a new epoch starts, so that no other connection to that server is used. Each of these connections would cost a
// later request one attempt, or its whole time if the server is silent.
func (e *Engine) release(ctx context.Context, conn *pgxpool.Conn, err error) {
	state, pgConn := stateOf(conn.Conn()), conn.Conn().PgConn()
	if isServerLost(err) {
		e.startEpoch(ctx, state.epoch)
	}
	if pgConn.IsClosed() || pgConn.TxStatus() != 'I' || isRetryable(err) && !isConflict(err) {
		discard(conn)
		return
	}
	state.lastUsed = time.Now()
	conn.Release()
}
