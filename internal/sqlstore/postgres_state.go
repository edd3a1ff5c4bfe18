package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/shop"
)

// stateQuery is the part of a statement that reads the state of the catalogue.
type stateQuery struct {
	columns string // SQL expressions for the columns of a stateRow
	// session is the session of the witness that was open before the statement was sent. It is nil if the version is
	// not needed, or if no session could check the version later.
	session *witnessSession
}

func (p *postgresEngine) newStateQuery(versioned bool) (q stateQuery) {
	if versioned {
		q.session = p.witness.current()
	}
	q.columns = p.versionColumns(q.session != nil) + ", (" + nextHold + ") AS hold"
	return q
}

// stateRow is the state of the catalogue as the server returns it.
type stateRow struct {
	version string
	pid     int64           // the server process that executed the statement
	now     sql.Null[int64] // in microseconds; NULL if the server's clock is not used
	hold    sql.Null[int64] // when the next hold expires, in microseconds
}

func (r *stateRow) columns() []any { return []any{&r.version, &r.pid, &r.now, &r.hold} }

func scanState(scan Scanner) (r stateRow, err error) {
	err = scan(r.columns()...)
	return r, err
}

// versionColumns returns SQL expressions for all columns of a stateRow except hold. Unless versioned is set, it
// avoids functions that databases related to PostgreSQL may lack, and the version is empty. A standby has no version,
// because its snapshots do not list the transactions that are running.
func (p *postgresEngine) versionColumns(versioned bool) string {
	version, now := "'' AS version, 0 AS pid", p.dialect.time
	if versioned {
		version = "CASE WHEN pg_is_in_recovery() THEN '' ELSE extract(epoch FROM pg_postmaster_start_time()) || ' ' || " +
			"CAST(pg_current_snapshot() AS TEXT) END AS version, pg_backend_pid() AS pid"
	}
	if now == "" {
		now = "CAST(NULL AS BIGINT)"
	}
	return version + ", " + now + " AS now"
}

// catalogState returns the state that a statement on the connection has read. The session must have been open before
// the statement was sent.
//
// The version contains the timeline that the server reported when the connection was opened. This timeline applies to
// the statement only if the same server process executed it. If another process did, the state has no version.
func (p *postgresEngine) catalogState(r stateRow, conn *pgx.Conn, session *witnessSession) shop.CatalogState {
	state := shop.CatalogState{Time: fromMicros(r.now.V), NextHold: fromMicros(r.hold.V)}
	if !r.now.Valid {
		state.Time, _ = p.dialect.now(nil) // this clock is set only in tests and cannot fail
	}
	if server := timelineOf(conn); session != nil && r.version != "" && server.Number != 0 && r.pid == int64(conn.PgConn().PID()) {
		state.Version = shop.CatalogVersion{Changes: session.generation, Snapshot: server.String() + " " + r.version}
		p.witness.latest.Store(&state.Version.Snapshot)
	}
	return state
}

// currentVersion asks the witness for the current version. It returns a zero version if this node already knows that
// the catalogue has changed since the version in seen.
func (p *postgresEngine) currentVersion(ctx context.Context, seen shop.CatalogVersion) (shop.CatalogVersion, time.Time) {
	session, latest := p.witness.session.Load(), p.witness.latest.Load()
	if session == nil || session.generation != seen.Changes || latest == nil || *latest != seen.Snapshot {
		return shop.CatalogVersion{}, time.Time{}
	}
	return p.witness.check(ctx)
}
