package postgres

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/sqlstore/engine"
)

// stampQuery is the part of a statement that reads the stamp of its snapshot.
type stampQuery struct {
	columns string // SQL expressions for the columns of a stampRow; empty if no stamp is needed
	// session is the session of the detector that was open before the statement was sent. It is nil if the version is
	// not needed, or if no session could check the version later.
	session *detectorSession
}

func (e *Engine) newStampQuery(o engine.ReadOptions) (q stampQuery) {
	if !o.Stamped {
		return q
	}
	if o.Versioned {
		q.session = e.detector.current()
	}
	value := "CAST(NULL AS BIGINT)"
	if o.Value != "" {
		value = "(" + o.Value + ")"
	}
	q.columns = versionColumns(q.session != nil) + ", " + value + " AS value"
	return q
}

// stampRow is a stamp as the server returns it.
type stampRow struct {
	version string
	pid     int64 // the server process that executed the statement
	now     int64 // in microseconds
	value   sql.Null[int64]
}

func (r *stampRow) columns() []any { return []any{&r.version, &r.pid, &r.now, &r.value} }

func scanStamp(scan engine.Scanner) (r stampRow, err error) {
	err = scan(r.columns()...)
	return r, err
}

// versionColumns returns SQL expressions for all columns of a stampRow except value. Unless versioned is set, it avoids
// functions that databases related to PostgreSQL may lack, and the version is empty. A standby has no version, because
// its snapshots do not list the transactions that are running.
func versionColumns(versioned bool) string {
	version := "'' AS version, 0 AS pid"
	if versioned {
		version = "CASE WHEN pg_is_in_recovery() THEN '' ELSE extract(epoch FROM pg_postmaster_start_time()) || ' ' || " +
			"CAST(pg_current_snapshot() AS TEXT) END AS version, pg_backend_pid() AS pid"
	}
	return version + ", " + NowMicros + " AS now"
}

// stamp returns the stamp that a statement on the connection has read. The session must have been open before the
// statement was sent.
//
// The version contains the timeline that the server reported when the connection was opened. This timeline applies to
// the statement only if the same server process executed it. If another process did, the stamp has no version.
func (e *Engine) stamp(r stampRow, conn *pgx.Conn, session *detectorSession) engine.Stamp {
	stamp := engine.Stamp{Time: time.UnixMicro(r.now).UTC(), Value: r.value}
	if server := timelineOf(conn); session != nil && r.version != "" && server.Number != 0 && r.pid == int64(conn.PgConn().PID()) {
		stamp.Version = engine.Version{SessionID: session.id, Snapshot: server.String() + " " + r.version}
		e.detector.latest.Store(&stamp.Version.Snapshot)
	}
	return stamp
}

// Version returns the version that the database has at some time during the call, and the server's time shortly
// afterwards. It returns a zero version if the version is not known, or if this node already knows that the database has
// changed since the version in seen.
func (e *Engine) Version(ctx context.Context, seen engine.Version) (engine.Version, time.Time) {
	session, latest := e.detector.session.Load(), e.detector.latest.Load()
	if session == nil || session.id != seen.SessionID || latest == nil || *latest != seen.Snapshot {
		return engine.Version{}, time.Time{}
	}
	return e.detector.check(ctx)
}
