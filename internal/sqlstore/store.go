// Package sqlstore implements shop.Store in SQL: in a SQLite file, or on a PostgreSQL server that several
// nodes share. Queries are written once for both engines; dialect.go has the differences.
//
// Only storeadmin contains SQL besides it, for tools that work on a whole store. They use a Conn, and the
// descriptions of rows in table.go.
package sqlstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/shop"
)

// Store is a shop.Store on one of the engines.
type Store struct {
	engine         engine
	metrics        *metrics
	wakeups        chan struct{}
	failing        atomic.Bool // the last write failed because of the database
	catalogChanges atomic.Int64
	orderChanges   atomic.Int64
	clock          func() time.Time // by which holds expire; nil: other processes may change the catalogue
	listen         sync.Once
	closed         context.Context // canceled by Close
	close          context.CancelFunc
}

// engine runs closures over transactions of its database. It calls Store.afterWrite for each write before the
// write returns.
type engine interface {
	read(ctx context.Context, fn func(*tx) error) error
	write(ctx context.Context, fn func(shop.WriteTx) error) error
	// publish gives committed events their positions in the feed.
	publish(ctx context.Context) error
	// listen calls heard after another node may have written, until the context ends.
	listen(ctx context.Context, heard func())
	// ready returns an error while the database cannot be read, or would refuse a write.
	ready(ctx context.Context) error
	collectors() []prometheus.Collector
	close() error
}

var errClosed = errors.New("the store is closed")

// Options configure Open.
type Options struct {
	// Exclusive locks a file against other processes that open it with Exclusive. Processes without it, such
	// as commands beside a service, may still read and write. A server is always shared.
	Exclusive bool
	// Existing makes Open fail where there is no store yet, instead of creating one.
	Existing bool
	// Now is the clock by which holds expire. By default it is the system's for a file, and the server's for
	// a server.
	Now func() time.Time
	// RetryBudget bounds how long a read or write on a server is retried; 0 means five seconds.
	RetryBudget time.Duration
}

// IsURL reports whether a database is the URL of a PostgreSQL server and not the path of a file.
func IsURL(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

// Open opens the store in a file or on the server at a URL, and brings its schema up to date. It creates a
// missing file.
func Open(ctx context.Context, database string, o Options) (*Store, error) {
	s := &Store{wakeups: make(chan struct{}, 1), metrics: newMetrics()}
	var err error
	if IsURL(database) {
		s.engine, err = openPostgres(ctx, database, o, s.metrics, s.afterWrite)
	} else {
		s.engine, err = openSQLite(ctx, database, o, s.metrics, s.afterWrite)
		if s.clock = o.Now; s.clock == nil {
			s.clock = time.Now
		}
		if !o.Exclusive {
			s.clock = nil
		}
	}
	if err != nil {
		return nil, err
	}
	s.closed, s.close = context.WithCancel(context.Background())
	return s, nil
}

// Close finishes the accepted writes and closes the store. Later reads and writes fail.
func (s *Store) Close() error {
	s.close()
	return s.engine.close()
}

// Read runs fn over one snapshot of the database.
func (s *Store) Read(ctx context.Context, fn func(shop.ReadTx) error) error {
	err := s.engine.read(ctx, func(tx *tx) error { return fn(tx) })
	s.metrics.countError(ctx, err)
	return err
}

// Write runs fn in a serializable transaction. Its changes are durable when Write returns nil.
func (s *Store) Write(ctx context.Context, fn func(shop.WriteTx) error) error {
	s.metrics.writes.Inc()
	defer s.metrics.writes.Dec()
	err := s.engine.write(ctx, fn)
	s.metrics.countError(ctx, err)
	if failing := isFailure(ctx, err); failing != s.failing.Load() && (failing || err == nil) {
		s.failing.Store(failing)
	}
	return err
}

// afterWrite bumps the versions of what a transaction changed, also after an error: the commit may have
// happened all the same. It wakes the event feed after a success.
func (s *Store) afterWrite(changes effects, committed bool) {
	if changes.orders {
		s.orderChanges.Add(1)
	}
	if changes.catalog {
		s.catalogChanges.Add(1)
	}
	if committed {
		s.wake()
	}
}

// CatalogVersion identifies the state of the catalogue. A write bumps it before it returns, so equal versions
// have equal contents until the next hold expires. Its time is the wall clock, by which holds expire, also
// after the clock was set.
func (s *Store) CatalogVersion() (shop.CatalogVersion, bool) {
	if s.clock == nil {
		return shop.CatalogVersion{}, false
	}
	return shop.CatalogVersion{Changes: s.catalogChanges.Load(), Orders: s.orderChanges.Load(), Time: s.clock().Round(0)}, true
}

// Publish makes the events of all committed writes readable.
func (s *Store) Publish(ctx context.Context) error { return s.engine.publish(ctx) }

// Wakeups receives a value soon after a write. The first call makes the store listen for writes of other
// nodes.
func (s *Store) Wakeups() <-chan struct{} {
	s.listen.Do(func() { go s.engine.listen(s.closed, s.wake) })
	return s.wakeups
}

func (s *Store) wake() {
	select {
	case s.wakeups <- struct{}{}:
	default: // a wake-up is pending already
	}
}
