package sqlstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/shop"
)

// resolveCommit finds out what became of a write whose COMMIT got no answer. Its name can stand in commits once: either the write
// has put it there, or it is put there now as that of a write that will never be done; while the write is still going on,
// this waits for its end. Where the server cannot be asked in time, nobody knows, and the caller is told so.
//
// It is one statement, so that one server answers, and it always writes: only then a primary answers no sooner than its
// synchronous replica has all that came before, and "done" is not said of what a failover would undo.
func (p *postgresEngine) resolveCommit(ctx context.Context, name []byte, lost error) error {
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
			return shop.UnavailableError(errors.Join(errNotCommitted, lost))
		case !backOff(ctx, try):
			return shop.UnavailableError(errors.Join(errUnknown, lost, err))
		}
	}
}

var (
	// errNotCommitted marks a failure after which it is certain that nothing was written: it can be run again.
	errNotCommitted = errors.New("the write was not done")
	// errUnknown marks a failure after which it may have been written: it must not be run again.
	errUnknown = errors.New("it is not known whether the write was done")
)
