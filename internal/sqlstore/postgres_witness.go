package sqlstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/shop"
	"animalstore/internal/singleflight"
)

// witness finds out whether the catalogue has changed since it was read, with one short query that all requests share.
// It compares the server's snapshots, which show which transactions have ended. While a server keeps running, equal
// snapshots have equal contents. After a crash, however, the server gives the same transaction ids to other
// transactions. The witness therefore keeps a session open. A crash ends every session, so a session that still exists
// shows that the server has not crashed since the session was opened. docs/decisions/026-postgresql-response-cache.md
// has the proof.
type witness struct {
	engine *postgresEngine
	// session is nil while there is no open session. No version can be confirmed during that time.
	session atomic.Pointer[witnessSession]
	// latest is the newest snapshot that this node has seen. Anything that was read in another snapshot is outdated.
	latest      atomic.Pointer[string]
	generations atomic.Int64
	checks      singleflight.Group[struct{}, shop.CatalogState]

	mu      sync.Mutex
	closed  bool
	opening bool
	retryAt time.Time // no session is opened before this time
	running sync.WaitGroup
	ctx     context.Context // ends when the engine is closed
	cancel  context.CancelFunc
}

// witnessSession is an open session.
type witnessSession struct {
	mu         sync.Mutex // held while the connection is used
	conn       *pgx.Conn
	generation int64 // distinguishes this session from all earlier ones
	// token is a random text in a setting of the session. The setting exists only in the memory of the session's
	// server process. A query that returns the token was executed by this process, even if there is a pooler that
	// this node has not recognized.
	token string
}

// witnessTimeout is how long a check may take.
const witnessTimeout = time.Second

func newWitness(p *postgresEngine) *witness {
	w := &witness{engine: p}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// current returns the open session. If there is none, it returns nil and opens one in the background.
func (w *witness) current() *witnessSession {
	s := w.session.Load()
	if s == nil {
		w.open()
	}
	return s
}

// close ends the session. Later checks return no version.
func (w *witness) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel()
	if s := w.session.Swap(nil); s != nil {
		s.close()
	}
	w.running.Wait()
}

// drop ends a session that can no longer prove that the catalogue is unchanged. Everything that was read during this
// session is then outdated.
func (w *witness) drop(s *witnessSession) {
	if w.session.CompareAndSwap(s, nil) {
		// Close the connection in the background, because a silent server would delay requests.
		w.running.Go(s.close)
	}
}

// close waits until the connection is no longer used and closes it.
func (s *witnessSession) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), pgPingTimeout)
	defer cancel()
	s.conn.Close(ctx)
}

// check returns the version that the catalogue has at some time during the call, and the server's time shortly
// afterwards. If the version is not certain, it is zero. All calls that are waiting for a running check to end share
// the next check.
func (w *witness) check(ctx context.Context) (shop.CatalogVersion, time.Time) {
	check, own, err := w.checks.Join(ctx, struct{}{}, w.checks.Begun(), nil)
	if err != nil {
		return shop.CatalogVersion{}, time.Time{}
	}
	if own {
		defer w.checks.End(struct{}{}, check)
		check.Value, check.Err = w.ask(context.WithoutCancel(ctx)), nil
	}
	return check.Value.Version, check.Value.Time
}

// ask asks the server for the version and the time. If the session fails or can prove nothing, ask drops it and
// returns no version.
func (w *witness) ask(ctx context.Context) shop.CatalogState {
	s := w.session.Load()
	if s == nil {
		return shop.CatalogState{}
	}
	state, err := w.askSession(ctx, s)
	if err != nil {
		w.drop(s)
		return shop.CatalogState{}
	}
	return state
}

// askSession returns the version of the catalogue and the server's time. It fails if the session has ended, or if its
// server is one that the engine no longer uses.
func (w *witness) askSession(ctx context.Context, s *witnessSession) (state shop.CatalogState, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !w.engine.isCurrent(s.conn) {
		return state, errUnfit
	}
	ctx, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	var row stateRow
	var token string
	query := "SELECT " + w.engine.versionColumns(true) + ", coalesce(current_setting('animalstore.witness', TRUE), '')"
	if err := s.conn.QueryRow(ctx, query).Scan(&row.version, &row.pid, &row.now, &token); err != nil {
		return state, err
	}
	state = w.engine.catalogState(row, s.conn, s)
	if token != s.token || state.Version == (shop.CatalogVersion{}) {
		return state, errUnfit
	}
	return state, nil
}
