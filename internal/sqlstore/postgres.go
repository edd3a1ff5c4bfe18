package sqlstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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
	pool     *pgxpool.Pool
	db       *sql.DB // the same connections, for a copy
	config   *pgx.ConnConfig
	dialect  *dialect
	metrics  *metrics
	tell     func(did effects, done bool)
	patience time.Duration // pgPatience, where nobody says otherwise
	closed   atomic.Bool
	// turn is held by the one write of this node that runs again after a conflict.
	turn chan struct{}
	// era counts how often the server was lost. Connections from before lead to where it was: none of them is used again.
	era atomic.Int64
	// failedWaits and failedWaitTime are of the waits for a connection that ended without one.
	failedWaits, failedWaitTime atomic.Int64
}

const (
	// pgPatience is how long one read or write goes on trying before it is refused.
	pgPatience = 5 * time.Second
	// pgConnections is how many connections a node has at most, where the URL does not say so.
	pgConnections = 32
	// maxViolations is how many broken constraints of one write are taken for conflicts, before they are taken for our fault.
	maxViolations = 10
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
		config: config, dialect: postgresDialect(o.Now), metrics: m, tell: tell, patience: cmp.Or(o.Patience, pgPatience), turn: make(chan struct{}, 1),
	}
	if p.pool, err = p.newPool(config, settings); err != nil {
		return nil, err
	}
	p.db = stdlib.OpenDBFromPool(p.pool)
	if err := migratePostgres(ctx, p, o.Existing); err != nil {
		p.close()
		return nil, fmt.Errorf("cannot open the database: %w", err)
	}
	return p, nil
}

// CheckURL says what is wrong with the URL of a server, without showing a password.
func CheckURL(url string) error {
	_, _, err := parsePostgresURL(url)
	return err
}

func parsePostgresURL(url string) (*pgx.ConnConfig, pool, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil && strings.Contains(err.Error(), "failed to parse as URL") { // whatever the driver says of it may be a piece of a password
		return nil, pool{}, errors.New("it cannot be read; a URL is postgres://USER:PASSWORD@HOST/DATABASE, and in a password a space is written as %20, a # as %23, a % as %25, a / as %2F and an @ as %40")
	}
	if err != nil {
		return nil, pool{}, errors.New(partsOfURL.ReplaceAllString(err.Error(), "$1…"))
	}
	if hasAt(config) { // what was taken for a host is the end of a password: it is not shown
		return nil, pool{}, errors.New("there is an @ in the wrong place; a URL is postgres://USER:PASSWORD@HOST/DATABASE, and in a password an @ is written as %40")
	}
	own, err := poolOf(config)
	if err != nil {
		return nil, pool{}, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = pgConnectTimeout
	}
	if config.ValidateConnect == nil { // of several servers, only one that can be written is of use
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	validate := config.ValidateConnect
	config.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		err := validate(ctx, conn)
		if err != nil && pgCode(err) == "" && !isBroken(err) { // it was asked, and is not the one that writes
			err = fmt.Errorf("%w: %w", errReadOnly, err)
		}
		return err
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "animalstore"
	}
	return config, own, nil
}

// partsOfURL are what the driver repeats of a URL that it cannot read. It hides a password only where it finds one, and in such
// a URL it may be anywhere.
var partsOfURL = regexp.MustCompile("(?s)^(cannot parse )`.*`|\"(?:[^\"\\\\]|\\\\.)*\"")

// hasAt tells whether there is a host, or a database, that cannot be one.
func hasAt(config *pgx.ConnConfig) bool {
	return strings.Contains(config.Host, "@") || strings.Contains(config.Database, "@") ||
		slices.ContainsFunc(config.Fallbacks, func(f *pgconn.FallbackConfig) bool { return strings.Contains(f.Host, "@") })
}

func (p *postgresEngine) close() error {
	p.closed.Store(true)
	err := p.db.Close()
	p.pool.Close()
	return err
}

func (p *postgresEngine) read(ctx context.Context, fn func(*tx) error) error {
	return p.patiently(ctx, ctx, func(ctx context.Context) error {
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
	err := p.patiently(ctx, context.WithoutCancel(ctx), func(ctx context.Context) error {
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
			return p.fate(ctx, name, lost)
		}
		return err
	})
	p.tell(did, err == nil)
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

// fate finds out what became of a write whose COMMIT got no answer. Its name can stand in commits once: either the write
// has put it there, or it is put there now as that of a write that will never be done; while the write is still going on,
// this waits for its end. Where the server cannot be asked in time, nobody knows, and the caller is told so.
//
// It is one statement, so that one server answers, and it always writes: only then a primary answers no sooner than its
// synchronous replica has all that came before, and "done" is not said of what a failover would undo.
func (p *postgresEngine) fate(ctx context.Context, name []byte, lost error) error {
	const ask = "INSERT INTO commits (id, at, done) VALUES ($1, " + serverMicros + ", FALSE) ON CONFLICT (id) DO UPDATE SET at = excluded.at RETURNING done"
	for try := 0; ; try++ {
		var done bool
		err := p.withConn(ctx, func(conn *pgx.Conn) error {
			stateOf(conn).committing.Store(true) // the statement commits by itself
			return conn.QueryRow(ctx, ask, name).Scan(&done)
		})
		switch {
		case err == nil && done:
			return nil
		case err == nil:
			return shop.UnavailableError(errors.Join(errNotDone, lost))
		case !pause(ctx, try):
			return shop.UnavailableError(errors.Join(errUnknown, lost, err))
		}
	}
}

var (
	// errNotDone marks a failure after which it is certain that nothing was written: it can be run again.
	errNotDone = errors.New("the write was not done")
	// errUnknown marks a failure after which it may have been written: it must not be run again.
	errUnknown = errors.New("it is not known whether the write was done")
)

// patiently runs fn again while what it failed of may pass, for a bounded time and as long as its caller waits for it.
func (p *postgresEngine) patiently(caller, ctx context.Context, fn func(context.Context) error) error {
	if p.closed.Load() {
		return shop.UnavailableError(errClosed)
	}
	limit, cancel := context.WithTimeout(ctx, max(p.patience, shop.PatienceOf(ctx)))
	defer cancel()
	violations := 0
	var before error // what it failed of the last time
	leave := func() {}
	defer func() { leave() }()
	for try := 0; ; try++ {
		err := fn(limit)
		if before != nil && limit.Err() != nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errUnknown) {
			return before // it says why, where this one says that the time is over
		}
		before = err
		if isViolation(err) {
			violations++
		}
		if err == nil || !mayPass(err) || violations > maxViolations || caller.Err() != nil || !pause(limit, try) {
			return err
		}
		p.metrics.retries.WithLabelValues(string(troubleOf(err))).Inc()
		if try == 0 && isConflict(err) {
			leave = p.takeTurn(limit)
		}
	}
}

// takeTurn waits until no other write of this node runs again after a conflict. All at once they would meet each other
// anew, and again: PostgreSQL sees conflicts by the page, so that neighbours meet who share no row. Whoever has waited for a
// fifth of its patience goes on all the same: the one before it may have to wait for something else.
func (p *postgresEngine) takeTurn(ctx context.Context) (leave func()) {
	limit, cancel := context.WithTimeout(ctx, p.patience/5)
	defer cancel()
	select {
	case p.turn <- struct{}{}:
		return func() { <-p.turn }
	case <-limit.Done():
		return func() {}
	}
}

// pause waits before the next try, a random while that grows; it returns false where there is no time for one.
func pause(ctx context.Context, try int) bool {
	wait := time.Duration(mathrand.Int64N(int64(min(time.Millisecond<<min(try, 10), 200*time.Millisecond)))) + time.Millisecond
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
		return false
	}
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}
