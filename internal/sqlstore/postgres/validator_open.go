package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// fitSQL sets the token of a session. It selects whether the server is a genuine PostgreSQL server and itself stores
// the versioned tables. In some databases related to PostgreSQL, snapshots have another
// meaning, or sessions survive a crash. A snapshot says nothing about foreign tables, nor about storage engines that
// number their transactions in their own way. A standby is unfit, because it has no timeline.
const fitSQL = `
	SELECT set_config('animalstore.validator', $1, FALSE) = $1
		AND version() ~ '^PostgreSQL [0-9.]+(beta[0-9]+|rc[0-9]+|devel)? '
		AND NOT EXISTS (SELECT FROM pg_proc WHERE proname IN ('aurora_version', 'yb_servers', 'alloydb_version'))
		AND NOT EXISTS (
			SELECT FROM unnest(CAST($2 AS TEXT[])) AS name
				JOIN pg_class AS stored ON stored.oid = CAST(name AS regclass) LEFT JOIN pg_am ON pg_am.oid = stored.relam
			WHERE stored.relkind <> 'r' OR pg_am.amname IS DISTINCT FROM 'heap')`

const (
	// validatorPause is the time between two attempts to open a session. If the last attempt has shown that the server
	// is unfit, the time is unfitPause instead.
	validatorPause = time.Second
	unfitPause     = time.Minute
	// connectValidatorTimeout is how long opening and testing a session may take.
	connectValidatorTimeout = 5 * time.Second
)

// errUnfit marks a session that cannot prove that the database is unchanged.
var errUnfit = errors.New("the session cannot prove that the database is unchanged")

// open opens a session in the background. It does nothing if there is already a session, if one is being opened, or if
// an attempt has just failed.
func (v *validator) open() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed || v.opening || v.session.Load() != nil || time.Now().Before(v.retryAt) {
		return
	}
	v.opening = true
	v.running.Go(func() {
		s, err := v.connect()
		v.mu.Lock()
		defer v.mu.Unlock()
		v.opening = false
		switch {
		case err == nil && v.closed:
			s.close()
		case err == nil:
			v.session.Store(s)
		case errors.Is(err, errUnfit) || isUnsupported(err):
			v.retryAt = time.Now().Add(unfitPause)
		default:
			v.retryAt = time.Now().Add(validatorPause)
		}
	})
}

// connect opens a session and tests it. It fails with errUnfit if the session cannot prove that the database is
// unchanged.
func (v *validator) connect() (*validatorSession, error) {
	ctx, cancel := context.WithTimeout(v.ctx, connectValidatorTimeout)
	defer cancel()
	config := v.engine.config.Copy()
	if err := v.engine.trackConn(ctx, config); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	s := &validatorSession{conn: conn, generation: v.generations.Add(1), token: rand.Text()}
	if err := v.test(ctx, s); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// test fails if the server is not fit. Another session writes a row during the test. The server's snapshots must show
// that this session is writing and, later, that the write has ended. The session really writes a row, because some
// databases related to PostgreSQL assign no transaction id when they write, and are therefore not fit.
func (v *validator) test(ctx context.Context, s *validatorSession) error {
	var fit bool
	if err := s.conn.QueryRow(ctx, fitSQL, s.token, v.engine.options.Versioned).Scan(&fit); err != nil {
		return err
	}
	if !fit {
		return errUnfit
	}
	return v.engine.withConn(ctx, func(other *pgx.Conn) error {
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
			return errUnfit
		}
		during, err := v.askSession(ctx, s)
		if err != nil {
			return err
		}
		if ended, err := hasEnded(ctx, s.conn, id); err != nil || ended {
			return errors.Join(err, errUnfit)
		}
		if err := tx.Rollback(ctx); err != nil {
			return err
		}
		after, err := v.askSession(ctx, s)
		if err != nil {
			return err
		}
		ended, err := hasEnded(ctx, s.conn, id)
		if err == nil && (!ended || during.Version == after.Version) {
			err = errUnfit
		}
		return err
	})
}

// hasEnded reports whether the transaction with the given id has ended in the current snapshot of a session.
func hasEnded(ctx context.Context, conn *pgx.Conn, id string) (ended bool, err error) {
	err = conn.QueryRow(ctx, "SELECT pg_visible_in_snapshot(CAST(CAST($1 AS TEXT) AS xid8), pg_current_snapshot())", id).Scan(&ended)
	return ended, err
}
