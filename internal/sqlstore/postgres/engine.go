// Package postgres is the engine for a PostgreSQL server that any number of nodes may share. It does not know what the
// tables contain, except for its own: write_outcomes, queue_marks and schema_version. The migrations that create the
// first two belong to the caller, like those of all other tables.
//
// Writes that declare their rows are committed in groups (group.go). All other writes are SERIALIZABLE and are retried
// after a conflict (write.go, retry.go). If the server is lost or a failover makes it read-only, reads and writes look
// for a writable server until their time is over (pool.go). A write that gets no response to its COMMIT is not simply
// retried: resolveCommit first finds out whether the write was committed (commit.go). A server that has lost a part of
// its history is refused (timeline.go). Snapshots show whether the database has changed since it was read. They can be
// compared only while the server has not crashed, and a session that is still open proves that (change_detector.go).
package postgres

import (
	"context"
	"errors"
	"fmt"
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
	// OnLostHistory is called when a server is refused because it has lost a part of its history. It is not called
	// again while the same refusal repeats. It must not block. It may be nil.
	OnLostHistory func(error)
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
	detector  *changeDetector
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
	e := &Engine{
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
		return e.checkTimeline(ctx, conn)
	}
	if e.pool, err = e.newPool(settings); err != nil {
		return nil, err
	}
	e.groups, e.detector = startGroups(e), newChangeDetector(e)
	if err = e.migrate(ctx); err == nil {
		err = e.dropForeignWatermarks(ctx)
	}
	if err != nil {
		e.Close()
		return nil, openError(err)
	}
	return e, nil
}

// Close waits for the queued writes, refuses new reads and writes, and waits until all connections have been released.
func (e *Engine) Close() error {
	e.groups.stop()
	e.closed.Store(true)
	e.detector.close()
	e.pool.Close()
	return nil
}

// Ready checks that the server can be read, accepts writes and has lost no part of its history. If it does not accept
// writes, a new epoch starts, because another server may have become the primary.
func (e *Engine) Ready(ctx context.Context) error {
	epoch := e.epoch.Load()
	_, err := e.Read(ctx, engine.ReadOptions{}, func(t *engine.Tx) error {
		refuses, _, err := engine.One(t, engine.ScanValue[bool],
			"SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'")
		if err == nil && refuses {
			err = t.Fail(errReadOnly)
		}
		if err != nil {
			return err
		}
		return e.checkTimelineAgain(t)
	})
	if errors.Is(err, errReadOnly) {
		e.startEpoch(ctx, epoch)
	}
	return err
}

// TryWrite fills a temporary table, which is dropped at the commit. The server has to allocate new space for this table.
// A row of an existing table might fit in space that the table already has, even if the disk is full.
func (e *Engine) TryWrite(ctx context.Context) error {
	const rowSize = 2000 // the server would compress larger rows
	return e.Write(ctx, engine.WriteOptions{}, func(t *engine.Tx) (engine.Touched, error) {
		t.Exec("SET LOCAL temp_tablespaces = ''") // the tablespace of the database
		return 0, t.Exec(fmt.Sprintf("CREATE TEMPORARY TABLE animalstore_probe ON COMMIT DROP AS SELECT repeat('-', %d) FROM generate_series(1, %d)",
			rowSize, engine.ProbeSize/rowSize))
	})
}

// HeavyReads returns a quarter of the connections. The others remain for writes and for all other reads.
func (e *Engine) HeavyReads() int { return max(1, int(e.pool.Config().MaxConns)/4) }

// transaction runs fn in a transaction. The transaction is rolled back unless fn calls commit.
func (e *Engine) transaction(ctx context.Context, options pgx.TxOptions, fn func(t *engine.Tx, commit func() error) error) (err error) {
	conn, err := e.acquire(ctx)
	if err != nil {
		return convertError(err)
	}
	defer func() { e.release(ctx, conn, err) }()
	pgTx, err := conn.BeginTx(ctx, options)
	if err != nil {
		return convertError(err)
	}
	// Rollback has no effect after a commit. If ctx is done, it closes the connection.
	defer pgTx.Rollback(ctx)
	return fn(newTx(ctx, connection{conn.Conn()}), func() error {
		stateOf(conn.Conn()).committing.Store(true)
		return e.options.Metrics.Commit(func() error { return pgTx.Commit(ctx) })
	})
}

func newTx(ctx context.Context, c engine.Conn) *engine.Tx {
	return &engine.Tx{Ctx: ctx, Conn: c, Convert: convertError}
}
