package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// canProveSQL sets the token of a session. It selects whether the server is a genuine PostgreSQL server and itself stores
// the versioned tables. In some databases related to PostgreSQL, snapshots have another meaning, or sessions survive a
// crash. A snapshot says nothing about foreign tables, nor about storage engines that number their transactions in their
// own way. A standby provides no proof either, because it has no timeline (stamp).
const canProveSQL = `
	SELECT set_config('animalstore.detector', $1, FALSE) = $1
		AND version() ~ '^PostgreSQL [0-9.]+(beta[0-9]+|rc[0-9]+|devel)? '
		AND NOT EXISTS (SELECT FROM pg_proc WHERE proname IN ('aurora_version', 'yb_servers', 'alloydb_version'))
		AND NOT EXISTS (
			SELECT FROM unnest(CAST($2 AS TEXT[])) AS name
				JOIN pg_class AS stored ON stored.oid = CAST(name AS regclass) LEFT JOIN pg_am ON pg_am.oid = stored.relam
			WHERE stored.relkind <> 'r' OR pg_am.amname IS DISTINCT FROM 'heap')`

const (
	// openSessionPause is the time between two attempts to open a session. If the last attempt has shown that the server
	// cannot provide a proof, the time is noProofPause instead.
	openSessionPause = time.Second
	noProofPause     = time.Minute
	// openSessionTimeout is how long opening and testing a session may take.
	openSessionTimeout = 5 * time.Second
)

// errNoProof marks a session that cannot prove that the database is unchanged.
var errNoProof = errors.New("the session cannot prove that the database is unchanged")

// open opens a session in the background. It does nothing if there is already a session, if one is being opened, or if
// an attempt has just failed.
func (d *changeDetector) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.opening || d.session.Load() != nil || time.Now().Before(d.retryAt) {
		return
	}
	d.opening = true
	d.running.Go(func() {
		s, err := d.connect()
		d.mu.Lock()
		defer d.mu.Unlock()
		d.opening = false
		switch {
		case err == nil && d.closed:
			s.close()
		case err == nil:
			d.session.Store(s)
		case errors.Is(err, errNoProof) || isUnsupported(err):
			d.retryAt = time.Now().Add(noProofPause)
		default:
			d.retryAt = time.Now().Add(openSessionPause)
		}
	})
}

// connect opens a session and tests it. It fails with errNoProof if the session cannot prove that the database is
// unchanged.
func (d *changeDetector) connect() (*detectorSession, error) {
	ctx, cancel := context.WithTimeout(d.ctx, openSessionTimeout)
	defer cancel()
	config := d.engine.config.Copy()
	if err := d.engine.configureConn(ctx, config); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	s := &detectorSession{conn: conn, id: d.lastSessionID.Add(1), token: rand.Text()}
	if err := d.test(ctx, s); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// test fails with errNoProof if the server provides no proof. Another session writes a row during the test. The server's
// snapshots must show that this session is writing and, later, that the write has ended. The session really writes a
// row, because some databases related to PostgreSQL assign no transaction id when they write. They provide no proof.
func (d *changeDetector) test(ctx context.Context, s *detectorSession) error {
	var canProve bool
	if err := s.conn.QueryRow(ctx, canProveSQL, s.token, d.engine.options.Versioned).Scan(&canProve); err != nil {
		return err
	}
	if !canProve {
		return errNoProof
	}
	return d.engine.withConn(ctx, func(other *pgx.Conn) error {
		tx, err := other.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback(ctx)
		if _, err := tx.Exec(ctx, insertOutcome, newCommitID()); err != nil {
			return err
		}
		var id string
		if err := tx.QueryRow(ctx, "SELECT coalesce(CAST(pg_current_xact_id_if_assigned() AS TEXT), '')").Scan(&id); err != nil {
			return err
		}
		if id == "" {
			return errNoProof
		}
		during, err := d.askSession(ctx, s)
		if err != nil {
			return err
		}
		if ended, err := hasEnded(ctx, s.conn, id); err != nil || ended {
			return errors.Join(err, errNoProof)
		}
		if err := tx.Rollback(ctx); err != nil {
			return err
		}
		after, err := d.askSession(ctx, s)
		if err != nil {
			return err
		}
		ended, err := hasEnded(ctx, s.conn, id)
		if err == nil && (!ended || during.Version == after.Version) {
			err = errNoProof
		}
		return err
	})
}

// hasEnded reports whether the transaction with the given id has ended in the current snapshot of a session.
func hasEnded(ctx context.Context, conn *pgx.Conn, id string) (ended bool, err error) {
	err = conn.QueryRow(ctx, "SELECT pg_visible_in_snapshot(CAST(CAST($1 AS TEXT) AS xid8), pg_current_snapshot())", id).Scan(&ended)
	return ended, err
}
