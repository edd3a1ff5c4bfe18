package sqlstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// publishSQL moves the events of committed transactions from event_inbox to events. The id of an event in
// events is its position in the feed.
//
// The id of an event in event_inbox is not a safe position. A transaction that was assigned a low id may
// commit after a reader has already read past that id. So an event gets its position only after its
// transaction has committed, and only one publication at a time assigns positions. Each publication locks the
// single row in event_turn until it commits. In READ COMMITTED, a statement sees everything that was
// committed before the statement began. So the DELETE, which runs under the lock, sees everything that
// earlier publications did. Readers therefore see a publication completely or not at all, and never before an
// earlier publication.
//
// All statements are sent in one message, so a node that crashes or is disconnected cannot keep the lock.
//
// A batch contains the events with the lowest ids in the inbox, because successive changes of one resource have
// ascending ids. Transaction ids do not show which change came first.
var publishSQL = `
	BEGIN ISOLATION LEVEL READ COMMITTED;
	` + useIndexes + `;
	SELECT one FROM event_turn FOR UPDATE;
	WITH waiting AS MATERIALIZED (
		SELECT id FROM ` + waitingRows("event_inbox") + ` ORDER BY id LIMIT 10000
	), moved AS (
		DELETE FROM event_inbox WHERE id = ANY (ARRAY(SELECT id FROM waiting)) RETURNING id, at, type, subject, actor, data
	), ` + moveMark("event_inbox", "(SELECT count(*) FROM waiting) < 10000") + `
	INSERT INTO events (at, type, subject, actor, data) SELECT at, type, subject, actor, data FROM moved ORDER BY id;
	NOTIFY animalstore_events;
	COMMIT`

// lookSQL selects an event that is waiting to be published.
var lookSQL = "BEGIN READ ONLY; " + useIndexes + "; SELECT id FROM event_inbox WHERE " + fromMark("event_inbox") + " LIMIT 1; COMMIT"

// useIndexes keeps the planner from scanning the inbox. The planner assumes that the inbox is empty, as it nearly
// always is, but deleted events may fill thousands of pages. With enable_seqscan off, a scan that cannot be avoided
// seems so expensive that the server would compile the statement first, which takes half a second. So jit is off as
// well.
const useIndexes = "SET LOCAL enable_seqscan = off; SET LOCAL jit = off"

// publish moves the events of all committed transactions to the feed, in as many batches as necessary.
func (p *postgresEngine) publish(ctx context.Context) error {
	return p.retry(ctx, ctx, "", 0, func(ctx context.Context) error {
		for {
			waiting, err := p.hasInbox(ctx)
			if err == nil && waiting {
				err = p.publishBatch(ctx)
			}
			if err != nil {
				return p.dialect.convertError(err)
			}
			if !waiting {
				return nil
			}
		}
	})
}

// hasInbox reports whether any event is waiting to be published.
func (p *postgresEngine) hasInbox(ctx context.Context) (waiting bool, err error) {
	err = p.withConn(ctx, func(conn *pgx.Conn) error {
		results, err := conn.PgConn().Exec(ctx, lookSQL).ReadAll()
		for _, result := range results {
			waiting = waiting || len(result.Rows) > 0
		}
		return err
	})
	return waiting, err
}

// publishBatch moves up to 10,000 events from event_inbox to the feed.
func (p *postgresEngine) publishBatch(ctx context.Context) error {
	return p.withConn(ctx, func(conn *pgx.Conn) error {
		stateOf(conn).committing.Store(true) // publishSQL ends with a COMMIT
		_, err := conn.PgConn().Exec(ctx, publishSQL).ReadAll()
		return err
	})
}
