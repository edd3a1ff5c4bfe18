package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"animalstore/internal/sqlstore/engine"
)

// timelineSQL selects the server's timeline and the identifier of its cluster. It needs no special rights. A
// standby has no timeline of its own.
const timelineSQL = `SELECT coalesce(CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END, ''),
	CAST(system_identifier AS TEXT) FROM pg_control_system()`

// timelineKey is the key under which a connection's custom data contains the timeline of its server.
const timelineKey = "timeline"

// checkTimeline refuses a new connection if its server is on a lower timeline than one that this node has seen. It
// does nothing if the server does not report its timeline.
func (e *Engine) checkTimeline(ctx context.Context, conn *pgconn.PgConn) error {
	results, err := conn.Exec(ctx, timelineSQL).ReadAll()
	if isUnsupported(err) {
		return nil
	}
	if err != nil {
		return err
	}
	row := results[0].Rows[0]
	server := newTimeline(string(row[0]), string(row[1]))
	conn.CustomData()[timelineKey] = server
	return e.observeTimeline(server)
}

// checkTimelineAgain refuses the server of an open connection in the same way. Behind a pooler, a connection may lead to
// another server than before.
func (e *Engine) checkTimelineAgain(t *engine.Tx) error {
	if e.timelines.highest().Number == 0 {
		return nil // the server does not report its timeline
	}
	server, _, err := engine.One(t, func(scan engine.Scanner) (timeline, error) {
		var number, system string
		err := scan(&number, &system)
		return newTimeline(number, system), err
	}, timelineSQL)
	if err != nil {
		return err
	}
	if err := e.observeTimeline(server); err != nil {
		return t.Fail(err)
	}
	return nil
}

// observeTimeline returns a *timelineError if a server must be refused. It counts the refusal and reports it, unless the
// same refusal was the last one.
func (e *Engine) observeTimeline(server timeline) error {
	err := e.timelines.observe(server)
	if refusal, ok := errors.AsType[*timelineError](err); ok {
		e.timelineRefusals.Inc()
		if e.timelines.recordRefusal(*refusal) && e.options.OnLostHistory != nil {
			e.options.OnLostHistory(refusal)
		}
	}
	return err
}

// timelineOf returns the timeline of a connection's server.
func timelineOf(conn *pgx.Conn) timeline {
	server, _ := conn.PgConn().CustomData()[timelineKey].(timeline)
	return server
}
