package sqlstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"animalstore/internal/shop"
)

// postgresEngine stores the shop on a PostgreSQL server that any number of nodes share.
//
// Writes are SERIALIZABLE and run again after a conflict. When the server is lost, or a failover makes it
// read-only, reads and writes look for a writable server until their retry budget is spent. A write whose
// COMMIT got no response is not simply run again: resolveCommit first finds out whether it was committed.
type postgresEngine struct {
	pool        *pgxpool.Pool
	config      *pgx.ConnConfig
	dialect     *dialect
	metrics     *metrics
	afterWrite  func(changes effects, committed bool)
	retryBudget time.Duration
	closed      atomic.Bool
	// retrySlot has room for one write of this node that runs again after a conflict.
	retrySlot chan struct{}
	// epoch is the number of times that the server was lost. A connection of an earlier epoch is never used
	// again: it leads to the server that was lost.
	epoch atomic.Int64
	// failedWaits and failedWaitTime count the acquires that found every connection in use and timed out.
	failedWaits, failedWaitTime atomic.Int64
}

const (
	// pgRetryBudget is the default time for all attempts of one read or write.
	pgRetryBudget = 5 * time.Second
	// pgMaxConns is the default size of the connection pool.
	pgMaxConns = 32
	// maxConstraintViolations is the number of constraint violations in one write that count as conflicts.
	// One more is a bug.
	maxConstraintViolations = 10
	// pgConnectTimeout is the default time to connect to one of the servers in the URL.
	pgConnectTimeout = 2 * time.Second
	// pgPingTimeout is the time that a server has to respond before an idle connection is used again.
	pgPingTimeout = time.Second
)

// openPostgres connects to the server at url and brings its schema up to date. It calls afterWrite after
// every write, with what the write changed and whether it was committed.
func openPostgres(
	ctx context.Context, url string, o Options, m *metrics, afterWrite func(changes effects, committed bool),
) (*postgresEngine, error) {
	config, settings, err := parsePostgresURL(url)
	if err != nil {
		return nil, err
	}
	p := &postgresEngine{
		config:      config,
		dialect:     postgresDialect(o.Now),
		metrics:     m,
		afterWrite:  afterWrite,
		retryBudget: cmp.Or(o.RetryBudget, pgRetryBudget),
		retrySlot:   make(chan struct{}, 1),
	}
	if p.pool, err = p.newPool(settings); err != nil {
		return nil, err
	}
	if err := migratePostgres(ctx, p, o.Existing); err != nil {
		p.close()
		return nil, fmt.Errorf("cannot open the database: %w", err)
	}
	return p, nil
}

// close refuses new reads and writes, and waits for those that hold a connection.
func (p *postgresEngine) close() error {
	p.closed.Store(true)
	p.pool.Close()
	return nil
}

func (p *postgresEngine) read(ctx context.Context, fn func(*tx) error) error {
	return p.retry(ctx, ctx, func(ctx context.Context) error {
		snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		return p.transaction(ctx, snapshot, func(t *tx, _ func() error) error {
			return t.run(func() error { return fn(t) })
		})
	})
}

// write runs fn in a SERIALIZABLE transaction. Cancelling ctx does not interrupt an attempt, because a
// transaction that is nearly committed is worth more than a new one. It does prevent further attempts: the
// client may have sent its request to another node, and a late attempt here could overwrite what that node
// has done since.
func (p *postgresEngine) write(ctx context.Context, fn func(shop.WriteTx) error) error {
	if err := ctx.Err(); err != nil {
		return shop.UnavailableError(err)
	}
	var changes effects
	err := p.retry(ctx, context.WithoutCancel(ctx), func(ctx context.Context) error {
		commitID := make([]byte, 16)
		rand.Read(commitID)
		var lost error // why the response to COMMIT is missing
		err := p.transaction(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(t *tx, commit func() error) error {
			defer func() { changes.add(t.effects) }()
			err := t.run(func() error {
				if err := fn(t); err != nil {
					return err
				}
				return t.exec("INSERT INTO commits (id, at, done) VALUES ($1, "+serverMicros+", TRUE)", commitID)
			})
			if err != nil {
				return err
			}
			if err = commit(); err == nil {
				return nil
			}
			if !isConflict(err) { // after a conflict the server has certainly rolled back
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

// transaction runs fn in a transaction and rolls back unless fn calls commit.
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
	defer pgTx.Rollback(ctx) // does nothing after a commit, and closes the connection if ctx is done
	return fn(&tx{ctx: ctx, runner: pgxRunner{conn.Conn()}, dialect: p.dialect}, func() error {
		stateOf(conn.Conn()).committing.Store(true)
		return p.metrics.commit(func() error { return pgTx.Commit(ctx) })
	})
}
