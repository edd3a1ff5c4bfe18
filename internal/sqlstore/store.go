// Package sqlstore keeps the shop in a SQL database: a file of its own, or a PostgreSQL server that several nodes share. It
// is the only room that knows SQL. The SQL is written once; what differs between the engines stands in dialect.go.
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
	engine  engine
	metrics *metrics
	notices chan struct{}
	failing atomic.Bool      // the last write failed, for no fault of the writer's
	changes atomic.Int64     // of the catalogue
	orders  atomic.Int64     // changes of orders
	clock   func() time.Time // by which holds run out; nil: others change the catalogue, too
	listen  sync.Once
	closed  context.Context // ends with the store
	close   context.CancelFunc
}

// engine runs closures over transactions of its database. It tells the store what each has done, before anybody is answered.
type engine interface {
	read(ctx context.Context, fn func(*tx) error) error
	write(ctx context.Context, fn func(shop.WriteTx) error) error
	// publish gives the events that are written their places.
	publish(ctx context.Context) error
	// listen calls heard when another node may have written, until the context ends.
	listen(ctx context.Context, heard func())
	// ready returns an error where nothing can be read, or nothing would be written.
	ready(ctx context.Context) error
	collectors() []prometheus.Collector
	close() error
}

var errClosed = errors.New("the store is closed")

// Options say how a store is opened.
type Options struct {
	// Exclusive keeps every other process out of a file that asks for the same. Those that do not may still read and
	// write. A server is always shared.
	Exclusive bool
	// Existing refuses a file that is not there, or a server's database without a store, in place of making one.
	Existing bool
	// Now is the clock that holds run by; nil: the system's for a file, and the server's own for a server.
	Now func() time.Time
	// RetryBudget is how long one read or write on a server goes on trying before it is refused; 0: five seconds.
	RetryBudget time.Duration
}

// IsURL tells whether a database is a PostgreSQL server and not a file.
func IsURL(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

// Open opens the store in a file, which it makes where there is none, or on the server at a URL. The schema is brought up
// to date.
func Open(ctx context.Context, database string, o Options) (*Store, error) {
	s := &Store{notices: make(chan struct{}, 1), metrics: newMetrics()}
	var err error
	if IsURL(database) {
		s.engine, err = openPostgres(ctx, database, o, s.metrics, s.tell)
	} else {
		s.engine, err = openSQLite(ctx, database, o, s.metrics, s.tell)
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

// Close finishes the writes that were accepted and closes the store. Whatever uses it later fails.
func (s *Store) Close() error {
	s.close()
	return s.engine.close()
}

// Read runs fn over one consistent state of the database.
func (s *Store) Read(ctx context.Context, fn func(shop.ReadTx) error) error {
	err := s.engine.read(ctx, func(tx *tx) error { return fn(tx) })
	s.metrics.note(ctx, err)
	return err
}

// Write runs fn as if alone. What it wrote is durable when Write returns nil.
func (s *Store) Write(ctx context.Context, fn func(shop.WriteTx) error) error {
	s.metrics.writes.Inc()
	defer s.metrics.writes.Dec()
	err := s.engine.write(ctx, fn)
	s.metrics.note(ctx, err)
	if failing := isTrouble(ctx, err); failing != s.failing.Load() && (failing || err == nil) {
		s.failing.Store(failing)
	}
	return err
}

// tell counts what a transaction has changed, also one that failed: nobody may know what became of it. Then it gives notice of
// one that is done.
func (s *Store) tell(did effects, done bool) {
	if did.ordered {
		s.orders.Add(1)
	}
	if did.changed {
		s.changes.Add(1)
	}
	if done {
		s.notice()
	}
}

// CatalogVersion tells which catalogue there is. Every change is counted before it is answered or noticed, so whoever sees the same
// number has seen all that anybody was told of. Its time is that of the clock on the wall, by which holds run out, also where that was set.
func (s *Store) CatalogVersion() (shop.CatalogVersion, bool) {
	if s.clock == nil {
		return shop.CatalogVersion{}, false
	}
	return shop.CatalogVersion{Changes: s.changes.Load(), Orders: s.orders.Load(), Time: s.clock().Round(0)}, true
}

// Publish makes the events of all writes that are done readable.
func (s *Store) Publish(ctx context.Context) error { return s.engine.publish(ctx) }

// Wakeups receives a value soon after a write. Whoever asks for it makes the store listen to other nodes.
func (s *Store) Wakeups() <-chan struct{} {
	s.listen.Do(func() { go s.engine.listen(s.closed, s.notice) })
	return s.notices
}

func (s *Store) notice() {
	select {
	case s.notices <- struct{}{}:
	default: // one is waiting already
	}
}
