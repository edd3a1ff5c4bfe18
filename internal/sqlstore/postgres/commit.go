package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/sqlstore/engine"
)

var (
	// errNotCommitted marks a write that was certainly not committed. The write may run again.
	errNotCommitted = errors.New("the write was not done")
	// errUnknownOutcome marks a write that may have been committed. The write must not run again.
	errUnknownOutcome = errors.New("it is not known whether the write was done")
)

// NowMicros is an SQL expression for the server's time in microseconds since 1970.
const NowMicros = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"

// insertOutcome inserts the id of a write into write_outcomes, in the transaction of the write.
const insertOutcome = "INSERT INTO write_outcomes (id, at, done) VALUES ($1, " + NowMicros + ", TRUE)"

// How long the rows in write_outcomes must be kept. The engine never deletes them. The caller does, as a part of its
// maintenance. A node looks up an outcome within seconds. If the outcome is that a write must not be committed, it is
// kept longer, because the write's COMMIT may still arrive after a network failure.
const (
	DoneRetention   = 10 * time.Minute
	UndoneRetention = time.Hour
)

func newCommitID() []byte {
	id := make([]byte, 16)
	rand.Read(id)
	return id
}

// resolveCommit finds out whether a write was committed. It is called if the write's COMMIT has failed, and lost is the
// error from that COMMIT. resolveCommit returns nil if the write was committed. It returns an error that wraps
// errNotCommitted if the write will never be committed, or an error that wraps errUnknownOutcome if no server responds
// in time.
//
// The write has inserted commitID into write_outcomes with done = TRUE. The primary key allows only one row with this
// id. So the INSERT below either finds the row from the committed write or reserves commitID with done = FALSE. If it
// reserves the id, a COMMIT that arrives later fails. While the write's transaction is still open, the INSERT waits
// until that transaction ends.
//
// The INSERT is a single statement, so the response comes from one server. It always writes, because the response to a
// write waits for the synchronous replica. A write is therefore not reported as committed while a failover could still
// undo it.
func (e *Engine) resolveCommit(ctx context.Context, commitID []byte, lost error) error {
	const resolveSQL = `
		INSERT INTO write_outcomes (id, at, done) VALUES ($1, ` + NowMicros + `, FALSE)
		ON CONFLICT (id) DO UPDATE SET at = excluded.at RETURNING done`
	for attempt := 0; ; attempt++ {
		var committed bool
		err := e.withConn(ctx, func(conn *pgx.Conn) error {
			stateOf(conn).committing.Store(true) // the INSERT commits its own transaction
			return conn.QueryRow(ctx, resolveSQL, commitID).Scan(&committed)
		})
		switch {
		case err == nil && committed:
			return nil
		case err == nil:
			return unavailableError(errors.Join(errNotCommitted, lost))
		case !backOff(ctx, attempt):
			return unavailableError(errors.Join(errUnknownOutcome, lost, err))
		}
	}
}

func unavailableError(err error) error {
	return &engine.Error{Kind: classify(err), Class: engine.Unavailable, Err: err}
}
