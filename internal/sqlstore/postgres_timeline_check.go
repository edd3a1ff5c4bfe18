package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// timelineSetting is the name of the setting in which a node records the highest timeline that it has seen. A node
// sets it on a server that it refuses, so that other nodes refuse this server as well. Other servers do not need the
// record, because they report this timeline themselves.
const timelineSetting = "postgres_timeline"

// timelineSQL selects the server's timeline and the identifier of its cluster. It needs no special rights. A
// standby has no timeline of its own.
const timelineSQL = `SELECT coalesce(CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END, ''),
	CAST(system_identifier AS TEXT) FROM pg_control_system()`

// timelineKey is the key under which a connection's custom data contains the timeline of its server.
const timelineKey = "timeline"

// checkTimeline refuses a new connection if its server is on a lower timeline than one that this node has seen. It
// does nothing if the server does not report its timeline.
func (p *postgresEngine) checkTimeline(ctx context.Context, conn *pgconn.PgConn) error {
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
	err = p.timelines.observe(server, timeline{})
	if refusal, ok := errors.AsType[*timelineError](err); ok {
		p.refuseTimeline(*refusal)
		p.recordTimeline(ctx, conn, *refusal)
	}
	return err
}

// refuseTimeline counts a refused server. It reports the refusal, unless the same refusal was the last one reported.
func (p *postgresEngine) refuseTimeline(refusal timelineError) {
	p.timelineRefusals.Inc()
	if p.timelines.replace(&p.timelines.reported, refusal) && p.onRefusedServer != nil {
		p.onRefusedServer(&refusal)
	}
}

// recordTimeline writes the timeline that this node has seen to a server that has lost it. Without this
// record, a node that starts later could not notice the loss. The write does not wait for a standby, which may
// not exist any more.
func (p *postgresEngine) recordTimeline(ctx context.Context, conn *pgconn.PgConn, refusal timelineError) {
	if refusal.server.System != refusal.seen.System || !p.timelines.replace(&p.timelines.recorded, refusal) {
		return
	}
	// The values contain only digits and a slash, so they need no escaping.
	_, err := conn.Exec(ctx, fmt.Sprintf(`BEGIN; SET LOCAL synchronous_commit = local;
		INSERT INTO settings (name, value) VALUES ('%s', '%s') ON CONFLICT (name) DO UPDATE SET value = excluded.value; COMMIT`,
		timelineSetting, refusal.seen)).ReadAll()
	if err != nil {
		p.timelines.replace(&p.timelines.recorded, timelineError{}) // try again with the next connection
	}
}

// checkRecordedTimeline refuses the server of a connection if any node has recorded there that the server has
// lost a timeline. The store must exist.
func (p *postgresEngine) checkRecordedTimeline(ctx context.Context, r runner) error {
	if p.timelines.highest().Number == 0 {
		return nil // the server does not report its timeline
	}
	server, recorded, err := readTimelines(ctx, r)
	if err != nil {
		return err
	}
	err = p.timelines.observe(server, recorded)
	if refusal, ok := errors.AsType[*timelineError](err); ok {
		p.refuseTimeline(*refusal)
	}
	return err
}

// readTimelines returns the server's timeline and the one that a node has recorded there, if any.
func readTimelines(ctx context.Context, r runner) (server, recorded timeline, err error) {
	var number, system, text string
	if _, err = firstRow(ctx, r, timelineSQL, &number, &system); err != nil {
		return server, recorded, err
	}
	_, err = firstRow(ctx, r, "SELECT value FROM settings WHERE name = '"+timelineSetting+"'", &text)
	return newTimeline(number, system), parseTimeline(text), err
}

// lostTimeline returns a *timelineError if a node has recorded that the server has lost a timeline. It returns
// nil if this is not known, for example because the server is a standby.
func lostTimeline(ctx context.Context, r runner) (lost, err error) {
	server, recorded, err := readTimelines(ctx, r)
	if err != nil && !isUnsupported(err) {
		return nil, err
	}
	return (&timelineGuard{}).observe(server, recorded), nil
}

// timelineOf returns the timeline of a connection's server.
func timelineOf(conn *pgx.Conn) timeline {
	server, _ := conn.PgConn().CustomData()[timelineKey].(timeline)
	return server
}
