package sqlstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/shop"
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
	begun       atomic.Int64 // the number of checks that have begun

	turn chan struct{} // a check holds the turn while it runs; the capacity is 1
	// The next three fields belong to the last check that has ended. Only the holder of the turn uses them.
	last    int64 // the value of begun when the check began
	version shop.CatalogVersion
	time    time.Time

	mu      sync.Mutex
	closed  bool
	opening bool
	retryAt time.Time // no session is opened before this time
	running sync.WaitGroup
	ctx     context.Context // ends when the engine is closed
	cancel  context.CancelFunc
}

// witnessSession is an open session. Only the holder of the turn uses its connection.
type witnessSession struct {
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
	w := &witness{engine: p, turn: make(chan struct{}, 1)}
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
	w.turn <- struct{}{}
	if s := w.session.Swap(nil); s != nil {
		closeConn(s.conn)
	}
	<-w.turn
	w.running.Wait()
}

// drop ends a session that can no longer prove that the catalogue is unchanged. Everything that was read during this
// session is then outdated.
func (w *witness) drop(s *witnessSession) {
	if w.session.CompareAndSwap(s, nil) {
		// Close the connection in the background, because a silent server would delay requests.
		w.running.Go(func() { closeConn(s.conn) })
	}
}

func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), pgPingTimeout)
	defer cancel()
	conn.Close(ctx)
}

// check returns the version that the catalogue has at some time during the call, and the server's time shortly
// afterwards. If the version is not certain, it is zero. All calls that are waiting for a running check to end share
// the next check.
func (w *witness) check(ctx context.Context) (shop.CatalogVersion, time.Time) {
	before := w.begun.Load()
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return shop.CatalogVersion{}, time.Time{}
	}
	defer func() { <-w.turn }()
	if w.last <= before { // the last check began before this call
		w.last = w.begun.Add(1)
		w.version, w.time = w.ask(context.WithoutCancel(ctx))
	}
	return w.version, w.time
}

// ask asks the server for the version and the time. If the session fails or can prove nothing, ask drops it and
// returns no version.
func (w *witness) ask(ctx context.Context) (shop.CatalogVersion, time.Time) {
	s := w.session.Load()
	if s == nil {
		return shop.CatalogVersion{}, time.Time{}
	}
	state, err := w.askSession(ctx, s)
	if err != nil {
		w.drop(s)
		return shop.CatalogVersion{}, time.Time{}
	}
	return state.Version, state.Time
}

// askSession returns the version of the catalogue and the server's time. It fails if the session has ended, or if its
// server is one that the engine no longer uses.
func (w *witness) askSession(ctx context.Context, s *witnessSession) (state shop.CatalogState, err error) {
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
