package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/sqlstore/engine"
)

// Read runs fn in a snapshot. If fn probably executes one query, Read executes it without BEGIN and ROLLBACK, in one round
// trip instead of three.
func (e *Engine) Read(ctx context.Context, o engine.ReadOptions, fn func(*engine.Tx) error) (stamp engine.Stamp, err error) {
	err = e.retry(ctx, ctx, engine.WriteOptions{Timeout: o.Timeout}, func(ctx context.Context) (err error) {
		query := e.newStampQuery(o)
		if o.Single {
			if stamp, err = e.readSingle(ctx, query, fn); !errors.Is(err, errSecondQuery) {
				return err
			}
		}
		return e.snapshot(ctx, func(t *engine.Tx) error {
			if err := fn(t); err != nil || query.columns == "" {
				return err
			}
			row, _, err := engine.One(t, scanStamp, "SELECT "+query.columns)
			if err != nil {
				return err
			}
			stamp = e.stamp(row, t.Conn.(connection).Conn, query.session)
			return nil
		})
	})
	return stamp, err
}

// snapshot runs fn in a transaction that reads one snapshot.
func (e *Engine) snapshot(ctx context.Context, fn func(*engine.Tx) error) error {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return e.transaction(ctx, snapshot, func(t *engine.Tx, _ func() error) error {
		return t.Outcome(fn(t))
	})
}

// readSingle runs fn, which may execute at most one query, without a transaction. Unless query is empty, it also
// reads the stamp, in the same statement and therefore in the same snapshot. It fails with
// errSecondQuery if fn needs a transaction.
//
// readSingle does not ping a connection that was idle, because the query itself shows whether the server is lost. The
// query first gets as much time as a ping would. If the server confirms that it has cancelled the query, the query
// was only slow, and it is executed again with the rest of the time.
func (e *Engine) readSingle(ctx context.Context, query stampQuery, fn func(*engine.Tx) error) (stamp engine.Stamp, err error) {
	conn, idle, err := e.acquireUnpinged(ctx)
	if err != nil {
		return stamp, convertError(err)
	}
	defer func() { e.release(ctx, conn, err) }()
	if idle {
		limited, cancel := context.WithTimeout(ctx, pingTimeout)
		stamp, err = e.querySingle(limited, conn.Conn(), query, fn)
		cancel()
		if pgCode(err) != pgQueryCanceled || ctx.Err() != nil {
			return stamp, err
		}
	}
	return e.querySingle(ctx, conn.Conn(), query, fn)
}

func (e *Engine) querySingle(
	ctx context.Context, conn *pgx.Conn, query stampQuery, fn func(*engine.Tx) error,
) (stamp engine.Stamp, err error) {
	single := &singleQuery{connection: connection{conn}, columns: query.columns}
	t := newTx(ctx, single)
	err = t.Outcome(fn(t))
	if err == nil && !single.used && query.columns != "" {
		single.columns = ""
		single.stamp, _, err = engine.One(t, scanStamp, "SELECT "+query.columns)
	}
	if err != nil || query.columns == "" {
		return stamp, err
	}
	return e.stamp(single.stamp, conn, query.session), nil
}

// errSecondQuery marks a read that must run in a transaction, because it executes more than one query.
var errSecondQuery = errors.New("the read executes more than one query")

// singleQuery executes one query without a transaction. If columns is not empty, the query also reads the
// stamp.
type singleQuery struct {
	connection
	columns string
	used    bool
	stamp   stampRow
}

func (r *singleQuery) Exec(context.Context, string, []any) error { return errSecondQuery }

func (r *singleQuery) Insert(context.Context, *engine.Insertion, int, func([]any, int) []any) error {
	return errSecondQuery
}

func (r *singleQuery) Query(ctx context.Context, query string, args []any) (engine.Rows, error) {
	if r.used {
		return nil, errSecondQuery
	}
	r.used = true
	if r.columns == "" {
		return r.connection.Query(ctx, query, args)
	}
	// The join with a single row keeps the order of the query's rows. The result has one row even if the query
	// selects none.
	found, err := r.Conn.Query(ctx, "SELECT stamp.*, found.* FROM (SELECT "+r.columns+") AS stamp"+
		" LEFT JOIN (SELECT TRUE, query.* FROM ("+query+") AS query) AS found ON TRUE", args...)
	if err != nil {
		return nil, err
	}
	return &stampRows{rows: rows{found}, stamp: &r.stamp}, nil
}

// stampRows are the rows of a query that also reads the stamp. Each row begins with the stamp and a
// column that is TRUE, or NULL if the query has selected no rows.
type stampRows struct {
	rows
	stamp *stampRow
	begun bool
	err   error
}

func (r *stampRows) Next() bool {
	if r.err != nil || !r.Rows.Next() {
		return false
	}
	if r.begun {
		return true
	}
	r.begun = true
	var found sql.Null[bool]
	columns := make([]any, len(r.FieldDescriptions())) // pgx skips the columns that are nil
	columns[copy(columns, r.stamp.columns())] = &found
	r.err = r.Rows.Scan(columns...)
	return r.err == nil && found.Valid
}

func (r *stampRows) Scan(columns ...any) error {
	all := make([]any, len(r.FieldDescriptions()))
	copy(all[len(all)-len(columns):], columns)
	return r.Rows.Scan(all...)
}

func (r *stampRows) Err() error { return errors.Join(r.err, r.Rows.Err()) }
