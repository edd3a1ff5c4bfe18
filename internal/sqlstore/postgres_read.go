package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/shop"
)

// read runs fn in a snapshot and, if the caller needs it, also reads the state of the catalogue in the same snapshot. If
// fn probably executes only one query, read executes it without BEGIN and COMMIT, in one round trip instead of three.
func (p *postgresEngine) read(ctx context.Context, r shop.Reading, fn func(*tx) error) error {
	return p.retry(ctx, ctx, r.By.Actor(), r.Budget, func(ctx context.Context) error {
		var query stateQuery
		if r.State != nil {
			query = p.newStateQuery(r.Version)
		}
		if r.SingleQuery {
			state, err := p.readSingle(ctx, query, fn)
			if err == nil && r.State != nil {
				*r.State = state
			}
			if !errors.Is(err, errSecondQuery) {
				return err
			}
		}
		return p.snapshot(ctx, func(t *tx) error {
			if err := fn(t); err != nil || r.State == nil {
				return err
			}
			row, _, err := one(t, scanState, "SELECT "+query.columns)
			if err != nil {
				return err
			}
			*r.State = p.catalogState(row, t.runner.(pgxRunner).conn, query.session)
			return nil
		})
	})
}

// snapshot runs fn in a transaction that reads one snapshot.
func (p *postgresEngine) snapshot(ctx context.Context, fn func(*tx) error) error {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return p.transaction(ctx, snapshot, func(t *tx, _ func() error) error {
		return t.run(func() error { return fn(t) })
	})
}

// readSingle runs fn, which may execute at most one query, without a transaction. Unless query is empty, it also
// reads the state of the catalogue, in the same statement and therefore in the same snapshot. It fails with
// errSecondQuery if fn needs a transaction.
//
// readSingle does not ping a connection that was idle, because the query itself shows whether the server is lost. The
// query first gets as much time as a ping would. If the server confirms that it has cancelled the query, the query
// was only slow, and it is executed again with the whole budget.
func (p *postgresEngine) readSingle(ctx context.Context, query stateQuery, fn func(*tx) error) (state shop.CatalogState, err error) {
	conn, idle, err := p.acquireUnpinged(ctx)
	if err != nil {
		return state, p.dialect.convertError(err)
	}
	defer func() { p.release(ctx, conn, err) }()
	if idle {
		limited, cancel := context.WithTimeout(ctx, pgPingTimeout)
		state, err = p.querySingle(limited, conn.Conn(), query, fn)
		cancel()
		if pgCode(err) != pgQueryCanceled || ctx.Err() != nil {
			return state, err
		}
	}
	return p.querySingle(ctx, conn.Conn(), query, fn)
}

func (p *postgresEngine) querySingle(
	ctx context.Context, conn *pgx.Conn, query stateQuery, fn func(*tx) error,
) (state shop.CatalogState, err error) {
	single := &singleRunner{pgxRunner: pgxRunner{conn}, columns: query.columns}
	t := &tx{ctx: ctx, runner: single, dialect: p.dialect}
	err = t.run(func() error {
		if err := fn(t); err != nil || single.used || query.columns == "" {
			return err
		}
		single.columns = ""
		single.state, _, err = one(t, scanState, "SELECT "+query.columns)
		return err
	})
	if err != nil || query.columns == "" {
		return state, err
	}
	return p.catalogState(single.state, conn, query.session), nil
}

// errSecondQuery marks a read that must run in a transaction, because it executes more than one query.
var errSecondQuery = errors.New("the read executes more than one query")

// singleRunner executes one query without a transaction. If columns is not empty, the query also reads the
// state of the catalogue.
type singleRunner struct {
	pgxRunner
	columns string
	used    bool
	state   stateRow
}

func (r *singleRunner) exec(context.Context, string, []any) error { return errSecondQuery }

func (r *singleRunner) query(ctx context.Context, query string, args []any) (Rows, error) {
	if r.used {
		return nil, errSecondQuery
	}
	r.used = true
	if r.columns == "" {
		return r.pgxRunner.query(ctx, query, args)
	}
	// The join with a single row keeps the order of the query's rows. The result has one row even if the query
	// selects none.
	rows, err := r.conn.Query(ctx, "SELECT state.*, found.* FROM (SELECT "+r.columns+") AS state"+
		" LEFT JOIN (SELECT TRUE, query.* FROM ("+query+") AS query) AS found ON TRUE", args...)
	if err != nil {
		return nil, err
	}
	return &stateRows{pgxRows: pgxRows{rows}, state: &r.state}, nil
}

// stateRows are the rows of a query that also reads the state of the catalogue. Each row begins with the state and a
// column that is TRUE, or NULL if the query has selected no rows.
type stateRows struct {
	pgxRows
	state *stateRow
	begun bool
	err   error
}

func (r *stateRows) Next() bool {
	if r.err != nil || !r.Rows.Next() {
		return false
	}
	if r.begun {
		return true
	}
	r.begun = true
	var found sql.Null[bool]
	columns := make([]any, len(r.FieldDescriptions())) // pgx skips the columns that are nil
	columns[copy(columns, r.state.columns())] = &found
	r.err = r.Rows.Scan(columns...)
	return r.err == nil && found.Valid
}

func (r *stateRows) Scan(columns ...any) error {
	all := make([]any, len(r.FieldDescriptions()))
	copy(all[len(all)-len(columns):], columns)
	return r.Rows.Scan(all...)
}

func (r *stateRows) Err() error { return errors.Join(r.err, r.Rows.Err()) }

// readLimits reserves three quarters of the connections for writes and for reads that are not heavy.
func (p *postgresEngine) readLimits() shop.ReadLimits {
	return shop.ReadLimits{Heavy: max(1, int(p.pool.Config().MaxConns)/4), Timeout: p.retryBudget}
}
