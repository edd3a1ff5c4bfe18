package sqlstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// publishSQL moves the events whose changes are committed from the inbox to their place in the feed.
//
// An event's number in the inbox is no place: whoever takes a low one may commit late, and a reader who has gone past it
// would never see it. So places are given after the commit, by one at a time: the lock on the one row of event_turn lasts
// until all that was given is committed. Each statement sees what was committed before it began, the second one therefore
// all that the turn before it has done. Readers see every turn whole, and none before the one that it follows.
//
// It is sent as one message, so that a node that dies or is cut off cannot keep the turn.
const publishSQL = `
	BEGIN ISOLATION LEVEL READ COMMITTED;
	SELECT one FROM event_turn FOR UPDATE;
	WITH moved AS (
		DELETE FROM event_inbox WHERE id IN (SELECT id FROM event_inbox ORDER BY id LIMIT 10000)
		RETURNING id, at, type, subject, actor, data
	) INSERT INTO events (at, type, subject, actor, data) SELECT at, type, subject, actor, data FROM moved ORDER BY id;
	NOTIFY animalstore_events;
	COMMIT`

func (p *postgresEngine) publish(ctx context.Context) error {
	return p.retry(ctx, ctx, func(ctx context.Context) error {
		for {
			waiting, err := p.hasInbox(ctx)
			if err != nil || !waiting {
				return err
			}
			if err := p.publishBatch(ctx); err != nil {
				return err
			}
		}
	})
}

func (p *postgresEngine) hasInbox(ctx context.Context) (waiting bool, err error) {
	err = p.transaction(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(t *tx, _ func() error) error {
		_, waiting, err = one(t, scanValue[int64], "SELECT id FROM event_inbox LIMIT 1")
		return err
	})
	return waiting, err
}

func (p *postgresEngine) publishBatch(ctx context.Context) error {
	err := p.withConn(ctx, func(conn *pgx.Conn) error {
		stateOf(conn).committing.Store(true) // it ends with one, and must not be cancelled either
		_, err := conn.PgConn().Exec(ctx, publishSQL).ReadAll()
		return err
	})
	if err != nil {
		return p.dialect.meaning(err)
	}
	return nil
}

// listen tells of what other nodes publish, until the context ends. It has a connection of its own. A pooler may not let
// it hear anything; nobody relies on it.
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
