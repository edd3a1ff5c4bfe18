package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/singleflight"
	"animalstore/internal/sqlstore/engine"
)

// changeDetector finds out whether the database has changed since it was read, with one short query that all requests
// share. It compares the server's snapshots, which show which transactions have ended. While a server keeps running, equal
// snapshots have equal contents. After a crash, however, the server gives the same transaction ids to other
// transactions. The detector therefore keeps a session open. A crash ends every session, so a session that still exists
// shows that the server has not crashed since the session was opened. docs/decisions/026-postgresql-response-cache.md
// has the proof.
type changeDetector struct {
	engine *Engine
	// session is nil while there is no open session. No version can be confirmed during that time.
	session atomic.Pointer[detectorSession]
	// latest is the snapshot that this node has read last. A version with another snapshot is probably outdated and is
	// not checked.
	latest        atomic.Pointer[string]
	lastSessionID atomic.Int64
	checks        singleflight.Group[struct{}, engine.Stamp]

	mu      sync.Mutex
	closed  bool
	opening bool
	retryAt time.Time // no session is opened before this time
	running sync.WaitGroup
	ctx     context.Context // ends when the engine is closed
	cancel  context.CancelFunc
}

// detectorSession is an open session.
type detectorSession struct {
	mu   sync.Mutex // held while the connection is used
	conn *pgx.Conn
	id   int64 // becomes engine.Version.SessionID; distinguishes this session from all earlier ones
	// token is a random text in a setting of the session. The setting exists only in the memory of the session's
	// server process. A query that returns the token was executed by this process, even if there is a pooler that
	// this node has not recognized.
	token string
}

// detectorTimeout is how long a check may take.
const detectorTimeout = time.Second

func newChangeDetector(e *Engine) *changeDetector {
	d := &changeDetector{engine: e}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// current returns the open session. If there is none, it returns nil and opens one in the background.
func (d *changeDetector) current() *detectorSession {
	s := d.session.Load()
	if s == nil {
		d.open()
	}
	return s
}

// close ends the session. Later checks return no version.
func (d *changeDetector) close() {
	d.mu.Lock()
	d.closed = true
	s := d.session.Swap(nil)
	d.mu.Unlock()
	d.cancel()
	if s != nil {
		s.close()
	}
	d.running.Wait()
}

// drop ends a session that can no longer prove that the database is unchanged. Everything that was read during this
// session is then outdated.
func (d *changeDetector) drop(s *detectorSession) {
	// With the lock, close either takes the session first or waits until it is closed.
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session.CompareAndSwap(s, nil) {
		// Close the connection in the background, because a silent server would delay requests.
		d.running.Go(s.close)
	}
}

// close waits until the connection is no longer used and closes it.
func (s *detectorSession) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	s.conn.Close(ctx)
}

// check returns the version that the database has at some time during the call, and the server's time shortly
// afterwards. If the version is not certain, it is zero. A check that is already running may have asked too early for
// this call, so the call waits for the next one. All calls that wait share it.
func (d *changeDetector) check(ctx context.Context) (engine.Version, time.Time) {
	check, own, err := d.checks.Join(ctx, struct{}{}, d.checks.Begun(), nil)
	if err != nil {
		return engine.Version{}, time.Time{}
	}
	if own {
		defer d.checks.End(struct{}{}, check)
		check.Value, check.Err = d.ask(context.WithoutCancel(ctx)), nil
	}
	return check.Value.Version, check.Value.Time
}

// ask asks the server for the version and the time. If the session fails or can prove nothing, ask drops it and
// returns no version.
func (d *changeDetector) ask(ctx context.Context) engine.Stamp {
	s := d.session.Load()
	if s == nil {
		return engine.Stamp{}
	}
	stamp, err := d.askSession(ctx, s)
	if err != nil {
		d.drop(s)
		return engine.Stamp{}
	}
	return stamp
}

// askSession returns the version of the database and the server's time. It fails if the session has ended, or if its
// server is one that the engine no longer uses.
func (d *changeDetector) askSession(ctx context.Context, s *detectorSession) (stamp engine.Stamp, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !d.engine.isCurrent(s.conn) {
		return stamp, errNoProof
	}
	ctx, cancel := context.WithTimeout(ctx, detectorTimeout)
	defer cancel()
	var row stampRow
	var token string
	query := "SELECT " + versionColumns(true) + ", coalesce(current_setting('animalstore.detector', TRUE), '')"
	if err := s.conn.QueryRow(ctx, query).Scan(&row.version, &row.pid, &row.now, &token); err != nil {
		return stamp, err
	}
	stamp = d.engine.stamp(row, s.conn, s)
	if token != s.token || stamp.Version == (engine.Version{}) {
		return stamp, errNoProof
	}
	return stamp, nil
}
