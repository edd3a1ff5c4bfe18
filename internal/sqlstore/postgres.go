package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
)

// postgresEngine stores the shop on a PostgreSQL server that any number of nodes may share.
//
// Frequent writes are committed in groups (see postgresGroups). All other writes are SERIALIZABLE and are
// retried after a conflict. If the server is lost or a failover makes it read-only, reads and writes look for a
// writable server until their retry budget is spent. A write that gets no response to its COMMIT is not simply
// retried. Instead, resolveCommit first finds out whether the write was committed.
type postgresEngine struct {
	pool        *pgxpool.Pool
	config      *pgx.ConnConfig
	dialect     *dialect
	metrics     *metrics
	spans       *spans
	afterWrite  func(changes effects, committed bool)
	retryBudget time.Duration
	// cancelTimeout is how long the server may take to confirm that it has cancelled a statement.
	cancelTimeout time.Duration
	closed        atomic.Bool
	// singleWrites limits how many connections are used by writes outside of groups.
	singleWrites *admission.Semaphore
	// retrySlot is a single place. It ensures that this node retries only one write at a time after a conflict.
	retrySlot *admission.Semaphore
	groups    *postgresGroups
	witness   *witness
	// epoch is the number of times that the server was lost. A connection from an earlier epoch is never used again,
	// because it is a connection to a lost server.
	epoch atomic.Int64
	// timelines refuses servers that have lost a part of the store's history. onRefusedServer is called with each
	// new refusal, unless it is nil.
	timelines        timelineGuard
	timelineRefusals prometheus.Counter
	onRefusedServer  func(error)
	// failedWaits is the number of requests that found every connection in use and timed out. failedWaitTime is the
	// total time in nanoseconds that these requests waited.
	failedWaits, failedWaitTime atomic.Int64
}

// openPostgres connects to the server at url and brings its schema up to date. afterWrite is called after
// every write. Its arguments are the changes made by the write and whether the write was committed.
func openPostgres(
	ctx context.Context, url string, o Options, m *metrics, traces *spans, afterWrite func(changes effects, committed bool),
) (*postgresEngine, error) {
	config, settings, err := parsePostgresURL(url)
	if err != nil {
		return nil, err
	}
	p := &postgresEngine{
		config:        config,
		dialect:       postgresDialect(o.Now),
		metrics:       m,
		spans:         traces,
		afterWrite:    afterWrite,
		retryBudget:   cmp.Or(o.RetryBudget, defaultTimeout),
		cancelTimeout: pgCancelTimeout,
		singleWrites:  newSingleWriteSlots(settings.maxConns),
		retrySlot:     newRetrySlot(),

		timelineRefusals: newTimelineRefusals(),
		onRefusedServer:  o.OnRefusedServer,
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
	p.groups, p.witness = startGroups(p), newWitness(p)
	if err := migratePostgres(ctx, p, o.Existing); err != nil {
		p.close()
		return nil, openError(err)
	}
	if err := p.checkMarks(ctx); err != nil {
		p.close()
		return nil, openError(err)
	}
	return p, nil
}

// close refuses new reads and writes and waits until all connections that are in use have been released.
func (p *postgresEngine) close() error {
	p.groups.stop()
	p.closed.Store(true)
	p.witness.close()
	p.pool.Close()
	return nil
}

// write runs fn in a group if the write declares the rows that fn needs. If it does not, or if the group cannot run
// fn, write runs fn in a transaction of its own, within the rest of the retry budget.
func (p *postgresEngine) write(ctx context.Context, w shop.Writing, fn func(shop.WriteTx) error) error {
	if err := ctx.Err(); err != nil {
		return shop.UnavailableError(err)
	}
	if w.Rows == nil {
		return p.writeSingle(ctx, context.WithoutCancel(ctx), w, fn)
	}
	deadline := time.Now().Add(p.retryBudget)
	queued, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if err := p.groups.write(queued, w, fn); !errors.Is(err, errUngrouped) {
		return err
	}
	left, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	return p.writeSingle(ctx, left, w, fn)
}

// transaction runs fn in a transaction. The transaction is rolled back unless fn calls commit.
func (p *postgresEngine) transaction(
	ctx context.Context, options pgx.TxOptions, fn func(t *tx, commit func() error) error,
) (err error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return p.dialect.convertError(err)
	}
	defer func() { p.release(ctx, conn, err) }()
	pgTx, err := conn.BeginTx(ctx, options)
	if err != nil {
		return p.dialect.convertError(err)
	}
	// Rollback has no effect after a commit. If ctx is done, it closes the connection.
	defer pgTx.Rollback(ctx)
	return fn(&tx{ctx: ctx, runner: pgxRunner{conn.Conn()}, dialect: p.dialect}, func() error {
		stateOf(conn.Conn()).committing.Store(true)
		return p.metrics.commit(func() error { return pgTx.Commit(ctx) })
	})
}
