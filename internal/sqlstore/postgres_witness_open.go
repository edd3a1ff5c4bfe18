package sqlstore

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// fitSQL sets the token of a session. It selects whether the server is a genuine PostgreSQL server and itself stores
// the tables that cached responses are built from. In some databases related to PostgreSQL, snapshots have another
// meaning, or sessions survive a crash. A snapshot says nothing about foreign tables, nor about storage engines that
// number their transactions in their own way. A standby is unfit, because it has no timeline.
const fitSQL = `
	SELECT set_config('animalstore.witness', $1, FALSE) = $1
		AND version() ~ '^PostgreSQL [0-9.]+(beta[0-9]+|rc[0-9]+|devel)? '
		AND NOT EXISTS (SELECT FROM pg_proc WHERE proname IN ('aurora_version', 'yb_servers', 'alloydb_version'))
		AND NOT EXISTS (
			SELECT FROM unnest(ARRAY['pets', 'orders', 'pet_search', 'pet_search_changes', 'search_progress']) AS name
				JOIN pg_class AS stored ON stored.oid = CAST(name AS regclass) LEFT JOIN pg_am ON pg_am.oid = stored.relam
			WHERE stored.relkind <> 'r' OR pg_am.amname IS DISTINCT FROM 'heap')`

const (
	// witnessPause is the time between two attempts to open a session. If the last attempt has shown that the server
	// is unfit, the time is unfitPause instead.
	witnessPause = time.Second
	unfitPause   = time.Minute
)

// errUnfit marks a session that cannot prove that the catalogue is unchanged.
var errUnfit = errors.New("the session cannot prove that the catalogue is unchanged")

// open opens a session in the background. It does nothing if there is already a session, if one is being opened, or if
// an attempt has just failed.
func (w *witness) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.opening || w.session.Load() != nil || time.Now().Before(w.retryAt) {
		return
	}
	w.opening = true
	w.running.Go(func() {
		s, err := w.connect()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.opening = false
		switch {
		case err == nil && w.closed:
			s.close()
		case err == nil:
			w.session.Store(s)
		case errors.Is(err, errUnfit) || isUnsupported(err):
			w.retryAt = time.Now().Add(unfitPause)
		default:
			w.retryAt = time.Now().Add(witnessPause)
		}
	})
}

// connect opens a session and tests it. It fails with errUnfit if the session cannot prove that the catalogue is
// unchanged.
func (w *witness) connect() (*witnessSession, error) {
	ctx, cancel := context.WithTimeout(w.ctx, defaultTimeout)
	defer cancel()
	config := w.engine.config.Copy()
	if err := w.engine.trackConn(ctx, config); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	s := &witnessSession{conn: conn, generation: w.generations.Add(1), token: rand.Text()}
	if err := w.test(ctx, s); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// test fails if the server is not fit. Another session writes a row during the test. The server's snapshots must show
// that this session is writing and, later, that the write has ended. The session really writes a row, because some
// databases related to PostgreSQL assign no transaction id when they write, and are therefore not fit.
func (w *witness) test(ctx context.Context, s *witnessSession) error {
	var fit bool
	if err := s.conn.QueryRow(ctx, fitSQL, s.token).Scan(&fit); err != nil {
		return err
	}
	if !fit {
		return errUnfit
	}
	return w.engine.withConn(ctx, func(other *pgx.Conn) error {
		tx, err := other.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback(ctx)
		if _, err := tx.Exec(ctx, insertCommit, newCommitID()); err != nil {
			return err
		}
		var id string
		if err := tx.QueryRow(ctx, "SELECT coalesce(CAST(pg_current_xact_id_if_assigned() AS TEXT), '')").Scan(&id); err != nil {
			return err
		}
		if id == "" {
			return errUnfit
		}
		during, err := w.askSession(ctx, s)
		if err != nil {
			return err
		}
		if ended, err := hasEnded(ctx, s.conn, id); err != nil || ended {
			return errors.Join(err, errUnfit)
		}
		if err := tx.Rollback(ctx); err != nil {
			return err
		}
		after, err := w.askSession(ctx, s)
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
