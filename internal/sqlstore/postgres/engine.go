// Package postgres is the engine for a PostgreSQL server that any number of nodes may share. It does not know what the
// tables contain, except for its own: write_outcomes, queue_marks and schema_version. The migrations that create the
// first two belong to the caller, like those of all other tables.
//
// Writes that declare their rows are committed in groups (group.go). All other writes are SERIALIZABLE and are retried
// after a conflict (write.go, retry.go). If the server is lost or a failover makes it read-only, reads and writes look
// for a writable server until their time is over (pool.go). A write that gets no response to its COMMIT is not simply
// retried: resolveCommit first finds out whether the write was committed (commit.go). A server that has lost a part of
// its history is refused (timeline.go). Snapshots show whether the database has changed since it was read. They can be
// compared only while the server has not crashed, and a session that is still open proves that (validator.go).
package postgres

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/admission"
	"animalstore/internal/sqlstore/engine"
)

// Options contains the settings for Open.
type Options struct {
	engine.Options
	Migrations []string
	// Versioned lists the tables for which a version (engine.Version) must tell whether they have changed. If the server
	// does not itself store one of them, for example because it is a foreign table, there are no versions.
	Versioned []string
	// Feed is the table into which Publish moves rows.
	Feed Feed
	// OnRefusedServer is called when a server is refused because it has lost a part of its history. It is not called
	// again while the same refusal repeats. It must not block. It may be nil.
	OnRefusedServer func(error)
}

// Engine implements engine.Engine for a PostgreSQL server.
type Engine struct {
	options Options
	timeout time.Duration // Options.Timeout
	pool    *pgxpool.Pool
	config  *pgx.ConnConfig
	// cancelTimeout is how long the server may take to confirm that it has cancelled a statement.
	cancelTimeout time.Duration
	closed        atomic.Bool
	// aloneWrites limits how many connections are used by writes that run alone.
	aloneWrites *admission.Semaphore
	// retrySlot ensures that this node retries only one write at a time after a conflict.
	retrySlot *admission.Semaphore
	groups    *groups
	validator *validator
	// epoch is the number of times that the server was lost. A connection from an earlier epoch is never used again,
	// because it is a connection to a lost server.
	epoch atomic.Int64
	// timelines refuses servers that have lost a part of their history.
	timelines        timelineGuard
	timelineRefusals prometheus.Counter
	// failedWaits is the number of requests that found every connection in use and timed out. failedWaitTime is the
	// total time in nanoseconds that these requests waited.
	failedWaits, failedWaitTime atomic.Int64
}

// Open connects to the server at url and brings its schema up to date.
func Open(ctx context.Context, url string, o Options) (*Engine, error) {
	config, settings, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	p := &Engine{
		options:          o,
		timeout:          o.Timeout,
		config:           config,
		cancelTimeout:    defaultCancelTimeout,
		aloneWrites:      newAloneWrites(settings.maxConns),
		retrySlot:        newRetrySlot(),
		timelineRefusals: newTimelineRefusals(),
	}
	validate := config.ValidateConnect
	config.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if err := validate(ctx, conn); err != nil {
			return err
		}
		return p.checkTimeline(ctx, conn)
	}
	if p.pool, err = p.newPool(settings); err != nil {
		return nil, err
	}
	p.groups, p.validator = startGroups(p), newValidator(p)
	if err = p.migrate(ctx); err == nil {
		err = p.dropForeignWatermarks(ctx)
	}
	if err != nil {
		p.Close()
		return nil, openError(err)
	}
	return p, nil
}

// Close waits for the queued writes, refuses new reads and writes, and waits until all connections have been released.
func (p *Engine) Close() error {
	p.groups.stop()
	p.closed.Store(true)
	p.validator.close()
	p.pool.Close()
	return nil
}

// Ready checks that the server can be read, accepts writes and has lost no part of its history. If it does not accept
// writes, a new epoch starts, because another server may have become the primary.
func (p *Engine) Ready(ctx context.Context) error {
	era := p.epoch.Load()
	_, err := p.Read(ctx, engine.ReadOptions{}, func(t *engine.Tx) error {
		refuses, _, err := engine.One(t, engine.ScanValue[bool],
			"SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'")
		if err == nil && refuses {
			err = t.Fail(errReadOnly)
		}
		if err != nil {
			return err
		}
		return p.checkTimelineAgain(t)
	})
	if errors.Is(err, errReadOnly) {
		p.startEpoch(ctx, era)
	}
	return err
}

// HeavyReads returns a quarter of the connections. The others remain for writes and for all other reads.
func (p *Engine) HeavyReads() int { return max(1, int(p.pool.Config().MaxConns)/4) }

// transaction runs fn in a transaction. The transaction is rolled back unless fn calls commit.
func (p *Engine) transaction(ctx context.Context, options pgx.TxOptions, fn func(t *engine.Tx, commit func() error) error) (err error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return convertError(err)
	}
	defer func() { p.release(ctx, conn, err) }()
	pgTx, err := conn.BeginTx(ctx, options)
	if err != nil {
		return convertError(err)
	}
	// Rollback has no effect after a commit. If ctx is done, it closes the connection.
	defer pgTx.Rollback(ctx)
	return fn(newTx(ctx, connection{conn.Conn()}), func() error {
		stateOf(conn.Conn()).committing.Store(true)
		return p.options.Metrics.Commit(func() error { return pgTx.Commit(ctx) })
	})
}

func newTx(ctx context.Context, c engine.Conn) *engine.Tx {
	return &engine.Tx{Ctx: ctx, Conn: c, Convert: convertError}
}
