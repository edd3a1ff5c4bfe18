package sqlstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// publishSQL moves the events of committed transactions from event_inbox to events, where their ids are the
// positions in the feed.
//
// The id of an event in event_inbox is not a safe position: a transaction that takes a low id may commit
// late, after a reader has read past that id. So a position is assigned only after the commit, and by one
// publication at a time: the lock on the single row of event_turn is held until the publication commits. In
// READ COMMITTED each statement sees what was committed before it began, so the DELETE, which runs under
// the lock, sees everything that earlier publications did. Readers therefore see a publication completely
// or not at all, and never before an earlier one.
//
// All statements are sent as one message, so a node that dies or is disconnected cannot keep the lock.
const publishSQL = `
	BEGIN ISOLATION LEVEL READ COMMITTED;
	SELECT one FROM event_turn FOR UPDATE;
	WITH moved AS (
		DELETE FROM event_inbox WHERE id IN (SELECT id FROM event_inbox ORDER BY id LIMIT 10000)
		RETURNING id, at, type, subject, actor, data
	) INSERT INTO events (at, type, subject, actor, data) SELECT at, type, subject, actor, data FROM moved ORDER BY id;
	NOTIFY animalstore_events;
	COMMIT`

// publish moves all events of committed transactions to the feed.
func (p *postgresEngine) publish(ctx context.Context) error {
	return p.retry(ctx, ctx, func(ctx context.Context) error {
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

// hasInbox reports whether an event waits for its publication.
func (p *postgresEngine) hasInbox(ctx context.Context) (waiting bool, err error) {
	err = p.withConn(ctx, func(conn *pgx.Conn) (err error) {
		var id int64
		waiting, err = firstRow(ctx, pgxRunner{conn}, "SELECT id FROM event_inbox LIMIT 1", &id)
		return err
	})
	return waiting, err
}

// publishBatch moves up to 10,000 events to the feed.
func (p *postgresEngine) publishBatch(ctx context.Context) error {
	return p.withConn(ctx, func(conn *pgx.Conn) error {
		stateOf(conn).committing.Store(true) // publishSQL ends with a COMMIT
		_, err := conn.PgConn().Exec(ctx, publishSQL).ReadAll()
		return err
	})
}

// listen calls heard whenever a node publishes, until the context ends. It uses a connection of its own and
// reconnects after an error. Notifications only shorten the wait for the next poll: a connection pooler may
// suppress them.
func (p *postgresEngine) listen(ctx context.Context, heard func()) {
	for ctx.Err() == nil {
		if conn, err := pgx.ConnectConfig(ctx, p.config.Copy()); err == nil {
			_, err = conn.Exec(ctx, "LISTEN animalstore_events")
			for err == nil {
				if _, err = conn.WaitForNotification(ctx); err == nil {
					heard()
				}
			}
			conn.Close(context.WithoutCancel(ctx))
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}
