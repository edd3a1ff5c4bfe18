// Package sqlstore implements shop.Store with an SQL database. The database is either a SQLite file or a
// PostgreSQL server that several nodes share. Queries are written once for both engines, and dialect.go
// contains the differences.
//
// The only other package that contains SQL is storeadmin, which has tools that work on a whole store. These
// tools use Conn and the tables that are described in table.go.
package sqlstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"animalstore/internal/shop"
)

// Store implements shop.Store with one of the two engines.
type Store struct {
	engine  engine
	metrics *metrics
	spans   *spans
	wakeups chan struct{}
	failing atomic.Bool // whether the last write failed because of the database
	listen  sync.Once
	checks  sync.WaitGroup  // the running calls of check
	closed  context.Context // cancelled by Close
	close   context.CancelFunc
}

// engine runs functions in database transactions. It calls Store.afterWrite for every write, before the write
// returns.
type engine interface {
	read(ctx context.Context, r shop.Reading, fn func(*tx) error) error
	// currentVersion returns the current version of the catalogue and the current time. The version is zero if it is
	// not known, or if it probably differs from seen.
	currentVersion(ctx context.Context, seen shop.CatalogVersion) (shop.CatalogVersion, time.Time)
	write(ctx context.Context, w shop.Writing, fn func(shop.WriteTx) error) error
	// publish gives committed events their positions in the feed. Only then can the events be read.
	publish(ctx context.Context) error
	// listen calls heard whenever another node may have written something, until the context ends.
	listen(ctx context.Context, heard func())
	// ready returns an error if the database cannot be read or would refuse a write.
	ready(ctx context.Context) error
	// readLimits returns how many heavy reads may run at the same time and how long a read may take. The limit on heavy
	// reads leaves connections for all other reads.
	readLimits() shop.ReadLimits
	collectors() []prometheus.Collector
	close() error
}

var errClosed = errors.New("the store is closed")

// ErrNoStore means that the database exists but does not contain a store.
var ErrNoStore = errors.New("there is no store in it")

// Options contains the settings for Open.
type Options struct {
	// Exclusive locks a SQLite file against other processes that open the file with Exclusive. Processes that
	// open it without Exclusive, such as commands that run alongside a service, may still read and write. A
	// PostgreSQL server is always shared.
	Exclusive bool
	// Existing makes Open fail if there is no store yet. By default, Open creates one.
	Existing bool
	// Now is the clock by which holds expire. The default is the system clock for a SQLite file and the
	// server's clock for a PostgreSQL server.
	Now func() time.Time
	// RetryBudget is the maximum time for a read. On a PostgreSQL server, it is also the maximum time for a write,
	// including all retries. If it is 0, defaultTimeout is used.
	RetryBudget time.Duration
	// OnRefusedServer is called when the store refuses a PostgreSQL server that has lost a part of the store's
	// history. It is called once for each such server and must not block.
	OnRefusedServer func(error)
	// Tracer starts spans for the transactions of traced requests. If it is nil, there are no spans.
	Tracer trace.Tracer
}

// defaultTimeout is the default for Options.RetryBudget.
const defaultTimeout = 5 * time.Second

// IsURL reports whether database is the URL of a PostgreSQL server. If it is not, database is the path of a SQLite
// file.
func IsURL(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

// Open opens a store and brings its schema up to date. database is the path of a SQLite file or the URL of a
// PostgreSQL server. A missing file is created, unless Options.Existing is set.
func Open(ctx context.Context, database string, o Options) (*Store, error) {
	s := &Store{wakeups: make(chan struct{}, 1), metrics: newMetrics(), spans: newSpans(o, database)}
	var err error
	if IsURL(database) {
		s.engine, err = openPostgres(ctx, database, o, s.metrics, s.spans, s.afterWrite)
	} else {
		s.engine, err = openSQLite(ctx, database, o, s.metrics, s.spans, s.afterWrite)
	}
	if err != nil {
		return nil, err
	}
	s.closed, s.close = context.WithCancel(context.Background())
	return s, nil
}

// Close waits until all accepted writes have finished and closes the store. Later reads and writes fail.
func (s *Store) Close() error {
	s.close()
	defer s.checks.Wait()
	return s.engine.close()
}

// Read runs fn on a consistent snapshot of the database.
func (s *Store) Read(ctx context.Context, r shop.Reading, fn func(shop.ReadTx) error) (err error) {
	ctx, span := s.spans.start(ctx, "store.read")
	defer func() { endSpan(span, err) }()
	err = s.engine.read(ctx, r, func(tx *tx) error { return fn(tx) })
	s.metrics.countError(ctx, err)
	return err
}

// CurrentVersion returns the current version of the catalogue and the time of the store's clock. The version is zero if
// it is not known, or if it probably differs from seen.
func (s *Store) CurrentVersion(ctx context.Context, seen shop.CatalogVersion) (shop.CatalogVersion, time.Time) {
	return s.engine.currentVersion(ctx, seen)
}

// Write runs fn in a serializable transaction. If Write returns nil, all changes are durable.
func (s *Store) Write(ctx context.Context, w shop.Writing, fn func(shop.WriteTx) error) (err error) {
	s.metrics.writes.Inc()
	defer s.metrics.writes.Dec()
	ctx, span := s.spans.start(ctx, "store.write")
	defer func() { endSpan(span, err) }()
	err = s.engine.write(ctx, w, fn)
	s.metrics.countError(ctx, err)
	if failing := isFailure(ctx, err); failing != s.failing.Load() && (failing || err == nil) {
		s.failing.Store(failing)
	}
	return err
}

// afterWrite wakes the event feed after a successful commit.
func (s *Store) afterWrite(_ effects, committed bool) {
	if committed {
		s.wake()
	}
}

// ReadLimits returns how many heavy reads may run at the same time and how long a read may take.
func (s *Store) ReadLimits() shop.ReadLimits { return s.engine.readLimits() }

// Publish makes the events from all committed writes readable.
func (s *Store) Publish(ctx context.Context) error { return s.engine.publish(ctx) }

// Wakeups returns a channel that receives a value soon after a write. The first call makes the store listen
// for writes by other nodes.
func (s *Store) Wakeups() <-chan struct{} {
	s.listen.Do(func() { go s.engine.listen(s.closed, s.wake) })
	return s.wakeups
}

func (s *Store) wake() {
	select {
	case s.wakeups <- struct{}{}:
	default: // a wake-up is already pending
	}
}
