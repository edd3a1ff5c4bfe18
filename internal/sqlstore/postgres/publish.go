package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/sqlstore/engine"
)

// Feed is a table with a column id that gives every row its position. Writes insert their rows into the inbox of the
// feed, and Publish moves them to the feed. The caller's migrations create three tables:
//
//   - the feed, with Columns and an id GENERATED ALWAYS AS IDENTITY as its primary key,
//   - the inbox, with Columns, such an id as well, a column xid of the type xid8 with the default pg_current_xact_id(),
//     and an index on xid (watermark.go says why),
//   - the lock table, with a column named one and a single row.
//
// The id of a row in the inbox is not a safe position. A transaction that was assigned a low id may commit after a reader
// has already read past that id. So a row gets its position only after its transaction has committed, and only one
// publication at a time assigns positions. Each publication locks the single row of a table until it commits. In READ
// COMMITTED, a statement sees everything that was committed before the statement began. So the DELETE, which runs under
// the lock, sees everything that earlier publications did. Readers therefore see a publication completely or not at all,
// and never before an earlier publication.
type Feed struct {
	Table   string
	Inbox   string // the table from which Publish takes the rows
	Lock    string // the table with a single row that a publication locks
	Columns string // the columns of a row, without its id
	Channel string // the channel on which Listen hears of publications
}

// publishAtOnce is the maximum number of rows that one publication moves.
const publishAtOnce = 10_000

// publishSQL returns the statements of a publication. They are sent in one message, so a node that crashes or is
// disconnected cannot keep the lock. Because the message ends with a COMMIT, it is never cancelled (connstate.go), so it
// must not wait long for the lock of another node. Publish tries again instead.
//
// A publication moves the rows with the lowest ids in the inbox, because successive changes of one resource have
// ascending ids. Transaction ids do not show which change came first.
func (f Feed) publishSQL() string {
	return fmt.Sprintf(`
	BEGIN ISOLATION LEVEL READ COMMITTED;
	`+useIndexes+`; SET LOCAL lock_timeout = '1s';
	SELECT one FROM %[3]s FOR UPDATE;
	WITH waiting AS MATERIALIZED (
		SELECT id FROM %[6]s ORDER BY id LIMIT %[7]d
	), moved AS (
		DELETE FROM %[2]s WHERE id = ANY (ARRAY(SELECT id FROM waiting)) RETURNING id, %[4]s
	), %[8]s
	INSERT INTO %[1]s (%[4]s) SELECT %[4]s FROM moved ORDER BY id;
	NOTIFY %[5]s;
	COMMIT`, f.Table, f.Inbox, f.Lock, f.Columns, f.Channel, WaitingRows(f.Inbox), publishAtOnce,
		MoveWatermark(f.Inbox, fmt.Sprintf("(SELECT count(*) FROM waiting) < %d", publishAtOnce)))
}

// waitingSQL returns statements that select a row that is waiting to be published.
func (f Feed) waitingSQL() string {
	return "BEGIN READ ONLY; " + useIndexes + "; SELECT id FROM " + f.Inbox + " WHERE " + FromWatermark(f.Inbox) + " LIMIT 1; COMMIT"
}

// useIndexes keeps the planner from scanning the inbox. The planner assumes that the inbox is empty, as it nearly
// always is, but deleted rows may fill thousands of pages. With enable_seqscan off, a scan that cannot be avoided
// seems so expensive that the server would compile the statement first, which takes half a second. So jit is off as
// well.
const useIndexes = "SET LOCAL enable_seqscan = off; SET LOCAL jit = off"

// Publish moves the rows of all committed transactions to the feed, in as many publications as necessary.
func (e *Engine) Publish(ctx context.Context) error {
	return e.retry(ctx, ctx, engine.WriteOptions{}, func(ctx context.Context) error {
		for {
			waiting, err := e.hasInbox(ctx)
			if err == nil && waiting {
				err = e.publishOnce(ctx)
			}
			if err != nil {
				return convertError(err)
			}
			if !waiting {
				return nil
			}
		}
	})
}

// hasInbox reports whether any row is waiting to be published.
func (e *Engine) hasInbox(ctx context.Context) (waiting bool, err error) {
	err = e.withConn(ctx, func(conn *pgx.Conn) error {
		results, err := conn.PgConn().Exec(ctx, e.options.Feed.waitingSQL()).ReadAll()
		for _, result := range results {
			waiting = waiting || len(result.Rows) > 0
		}
		return err
	})
	return waiting, err
}

func (e *Engine) publishOnce(ctx context.Context) error {
	return e.withConn(ctx, func(conn *pgx.Conn) error {
		stateOf(conn).committing.Store(true) // publishSQL ends with a COMMIT
		_, err := conn.PgConn().Exec(ctx, e.options.Feed.publishSQL()).ReadAll()
		return rollback(conn, err)
	})
}
