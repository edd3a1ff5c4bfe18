package sqlstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/shop"
)

var (
	// errNotCommitted marks a write that is certainly not committed. It may run again.
	errNotCommitted = errors.New("the write was not done")
	// errUnknown marks a write that may be committed. It must not run again.
	errUnknown = errors.New("it is not known whether the write was done")
)

// resolveCommit finds out whether a write was committed whose COMMIT failed with lost. It returns nil if it
// was, an error with errNotCommitted if it never will be, and an error with errUnknown if no server
// responds in time.
//
// The write has inserted commitID into commits with done = TRUE. The primary key admits commitID once. So
// the INSERT below either finds the row of the committed write, or reserves commitID with done = FALSE,
// which makes a COMMIT that arrives later fail. While the transaction of the write is open, the INSERT
// waits for its end.
//
// It is a single statement, so the response comes from one server. It always writes, because the response
// to a write waits for the synchronous replica: a committed write is not reported while a failover could
// still undo it.
func (p *postgresEngine) resolveCommit(ctx context.Context, commitID []byte, lost error) error {
	const resolveSQL = `
		INSERT INTO commits (id, at, done) VALUES ($1, ` + serverMicros + `, FALSE)
		ON CONFLICT (id) DO UPDATE SET at = excluded.at RETURNING done`
	for attempt := 0; ; attempt++ {
		var committed bool
		err := p.withConn(ctx, func(conn *pgx.Conn) error {
			stateOf(conn).committing.Store(true) // the statement commits itself
			return conn.QueryRow(ctx, resolveSQL, commitID).Scan(&committed)
		})
		switch {
		case err == nil && committed:
			return nil
		case err == nil:
			return shop.UnavailableError(errors.Join(errNotCommitted, lost))
		case !backOff(ctx, attempt):
			return shop.UnavailableError(errors.Join(errUnknown, lost, err))
		}
	}
}
