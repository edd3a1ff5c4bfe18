package sqlstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"animalstore/internal/shop"
)

// postgresEngine is a PostgreSQL server that any number of nodes share.
//
// Writes are serializable and run again where they got in each other's way. A server that goes away, or that a failover
// has made read-only, is looked for anew for a while. Only a write whose COMMIT may have arrived is not simply run again:
// its fate is looked up first.
type postgresEngine struct {
	pool        *pgxpool.Pool
	db          *sql.DB // the same connections, for a copy
	config      *pgx.ConnConfig
	dialect     *dialect
	metrics     *metrics
	afterWrite  func(did effects, done bool)
	retryBudget time.Duration // pgPatience, where nobody says otherwise
	closed      atomic.Bool
	// retrySlot is held by the one write of this node that runs again after a conflict.
	retrySlot chan struct{}
	// epoch counts how often the server was lost. Connections from before lead to where it was: none of them is used again.
	epoch atomic.Int64
	// failedWaits and failedWaitTime are of the waits for a connection that ended without one.
	failedWaits, failedWaitTime atomic.Int64
}

const (
	// pgRetryBudget is how long one read or write goes on trying before it is refused.
	pgRetryBudget = 5 * time.Second
	// pgMaxConns is how many connections a node has at most, where the URL does not say so.
	pgMaxConns = 32
	// maxConstraintViolations is how many broken constraints of one write are taken for conflicts, before they are taken for our fault.
	maxConstraintViolations = 10
	// pgConnectTimeout is how long one server may take to let us in.
	pgConnectTimeout = 2 * time.Second
	// pgPingTimeout is how long it may take to say that it is still there.
	pgPingTimeout = time.Second
)

func openPostgres(ctx context.Context, url string, o Options, m *metrics, tell func(did effects, done bool)) (*postgresEngine, error) {
	config, settings, err := parsePostgresURL(url)
	if err != nil {
		return nil, err
	}
	p := &postgresEngine{
		config: config, dialect: postgresDialect(o.Now), metrics: m, afterWrite: tell, retryBudget: cmp.Or(o.RetryBudget, pgRetryBudget), retrySlot: make(chan struct{}, 1),
	}
	if p.pool, err = p.newPool(settings); err != nil {
		return nil, err
	}
	p.db = stdlib.OpenDBFromPool(p.pool)
	if err := migratePostgres(ctx, p, o.Existing); err != nil {
		p.close()
		return nil, fmt.Errorf("cannot open the database: %w", err)
	}
	return p, nil
}

func (p *postgresEngine) close() error {
	p.closed.Store(true)
	err := p.db.Close()
	p.pool.Close()
	return err
}

func (p *postgresEngine) read(ctx context.Context, fn func(*tx) error) error {
	return p.retry(ctx, ctx, func(ctx context.Context) error {
		return p.transaction(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(t *tx, _ func() error) error {
			return t.run(func() error { return fn(t) })
		})
	})
}

// write does not end with its caller: a transaction that is nearly done is worth more than one that is begun again. But it is not
// begun again for a caller that has gone, and that may have asked another node meanwhile.
func (p *postgresEngine) write(ctx context.Context, fn func(shop.WriteTx) error) error {
	if err := ctx.Err(); err != nil {
		return shop.UnavailableError(err)
	}
	var did effects
	err := p.retry(ctx, context.WithoutCancel(ctx), func(ctx context.Context) error {
		name := make([]byte, 16)
		rand.Read(name)
		var lost error // of a COMMIT that may have arrived
		err := p.transaction(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(t *tx, commit func() error) error {
			defer func() { did.add(t.effects) }()
			err := t.run(func() error {
				if err := fn(t); err != nil {
					return err
				}
				return t.exec("INSERT INTO commits (id, at, done) VALUES ($1, "+serverMicros+", TRUE)", name)
			})
			if err != nil {
				return err
			}
			if err = commit(); err == nil {
				return nil
			}
			if !isConflict(err) { // all that a server says to a COMMIT that it has not done, and knows it
				lost = err
			}
			return p.dialect.meaning(err)
		})
		if lost != nil {
			return p.resolveCommit(ctx, name, lost)
		}
		return err
	})
	p.afterWrite(did, err == nil)
	return err
}

// transaction runs fn in one transaction of one connection. Only a commit ends it with effect.
func (p *postgresEngine) transaction(ctx context.Context, o pgx.TxOptions, fn func(t *tx, commit func() error) error) (err error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return p.dialect.meaning(err)
	}
	defer func() { p.release(ctx, conn, err) }()
	begun, err := conn.BeginTx(ctx, o)
	if err != nil {
		return p.dialect.meaning(err)
	}
	defer begun.Rollback(ctx) // after a commit it does nothing; where the context has ended, it closes the connection
	return fn(&tx{ctx: ctx, runner: pgxRunner{conn.Conn()}, dialect: p.dialect}, func() error {
		stateOf(conn.Conn()).committing.Store(true)
		return p.metrics.commit(func() error { return begun.Commit(ctx) })
	})
}
