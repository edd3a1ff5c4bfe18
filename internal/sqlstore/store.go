// Package sqlstore implements shop.Store with an SQL database. The database is either a SQLite file or a
// PostgreSQL server that several nodes share. This package contains the queries by resource, the unit of work, the
// migrations and the version of the catalogue. Queries are written once for both engines, and dialect.go contains the
// differences. The packages sqlite and postgres run them in transactions and do not know what the tables contain.
//
// The packages storeadmin and doctor, which have tools that work on a whole store, contain SQL as well. These tools use
// Conn and the tables that are described in table.go.
package sqlstore

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
	"animalstore/internal/sqlstore/postgres"
	"animalstore/internal/sqlstore/sqlite"
)

// Store implements shop.Store with one of the two engines.
type Store struct {
	engine  engine.Engine
	file    *sqlite.Engine   // the engine if it is SQLite, or nil
	server  *postgres.Engine // the engine if it is PostgreSQL, or nil
	dialect *dialect
	catalog localCatalog
	timeout time.Duration
	metrics *metrics
	spans   *engine.Spans
	wakeups chan struct{}
	failing atomic.Pointer[writeFailure] // nil if writes are known to work
	probing chan struct{}                // contains a value while a readiness check tries to write
	backlog backlog
	listen  sync.Once
	checks  sync.WaitGroup  // the running calls of check
	closed  context.Context // cancelled by Close
	close   context.CancelFunc
}

// ErrNoStore means that the database exists but does not contain a store.
var ErrNoStore = engine.ErrNoStore

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
	// OnLostHistory is called when the store refuses a PostgreSQL server that has lost a part of the store's
	// history. It is called once for each such server and must not block.
	OnLostHistory func(error)
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
func Open(ctx context.Context, database string, o Options) (s *Store, err error) {
	s = &Store{
		wakeups: make(chan struct{}, 1), probing: make(chan struct{}, 1),
		metrics: newMetrics(), timeout: cmp.Or(o.RetryBudget, defaultTimeout),
	}
	if IsURL(database) {
		err = s.openServer(ctx, database, o)
	} else {
		err = s.openFile(ctx, database, o)
	}
	if err != nil {
		return nil, err
	}
	s.closed, s.close = context.WithCancel(context.Background())
	return s, nil
}

// engineOptions sets the dialect of the store and returns the options that both engines have.
func (s *Store) engineOptions(d *dialect, system string, o Options) engine.Options {
	s.dialect = d
	if o.Tracer != nil {
		s.spans = &engine.Spans{Tracer: o.Tracer, System: system, Code: spanCode}
	}
	return engine.Options{
		Existing: o.Existing, Timeout: s.timeout, Metrics: s.metrics.engine, Spans: s.spans, AfterWrite: s.afterWrite,
		NewUnit: func() engine.Unit { return newUnit(d) },
	}
}

func (s *Store) openFile(ctx context.Context, path string, o Options) error {
	schema, err := sqliteSchema()
	if err != nil {
		return err
	}
	s.catalog.exclusive = o.Exclusive
	s.file, err = sqlite.Open(ctx, path, sqlite.Options{
		Options: s.engineOptions(sqliteDialect(o.Now), "sqlite", o), Schema: schema, Exclusive: o.Exclusive,
		ReadProbe: "SELECT value FROM settings WHERE name = 'environment'",
		WriteProbe: `
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
			INSERT INTO settings (name, value) SELECT 'probe ' || i, printf('%.1024c', '-') FROM n`,
	})
	s.engine = s.file
	s.failing.Store(&writeFailure{}) // the disk may be full already
	return err
}

func (s *Store) openServer(ctx context.Context, url string, o Options) error {
	migrations, err := Migrations(Postgres)
	if err != nil {
		return err
	}
	s.server, err = postgres.Open(ctx, url, postgres.Options{
		Options: s.engineOptions(postgresDialect(o.Now), "postgresql", o), Migrations: migrations,
		Versioned:     []string{"pets", "profiles", "profile_tags", "published_pets", "categories", "settings", "orders", "pet_search", "pet_search_changes", "search_progress"},
		Feed:          postgres.Feed{Table: "events", Inbox: "event_inbox", Lock: "event_turn", Columns: newEventColumns, Channel: "animalstore_events"},
		OnLostHistory: o.OnLostHistory,
	})
	s.engine = s.server
	s.dialect.readOutside = s.readRows
	return err
}

// Close waits until all accepted writes have finished and closes the store. Later reads and writes fail.
func (s *Store) Close() error {
	s.close()
	defer s.checks.Wait()
	return s.engine.Close()
}

// Read runs fn on a consistent snapshot of the database.
func (s *Store) Read(ctx context.Context, r shop.Reading, fn func(shop.ReadTx) error) (err error) {
	ctx, span := s.spans.Start(ctx, "store.read")
	defer func() { s.spans.End(span, err) }()
	o := engine.ReadOptions{Timeout: r.Budget, Single: r.SingleQuery}
	var before catalogBefore
	if r.State != nil {
		before = s.beforeRead(&o, r)
	}
	stamp, err := s.engine.Read(ctx, o, func(t *engine.Tx) error { return fn(&tx{Tx: t, dialect: s.dialect}) })
	if err == nil && r.State != nil {
		*r.State = s.catalogState(before, stamp, r.Version)
	}
	err = shopError(err)
	s.metrics.countError(ctx, err)
	return err
}

// Write runs fn in a serializable transaction. If Write returns nil, all changes are durable.
func (s *Store) Write(ctx context.Context, w shop.Writing, fn func(shop.WriteTx) error) (err error) {
	s.metrics.writes.Inc()
	defer s.metrics.writes.Dec()
	ctx, span := s.spans.Start(ctx, "store.write")
	defer func() { s.spans.End(span, err) }()
	o := engine.WriteOptions{Timeout: w.Budget, Key: w.By.Actor(), Priority: priorities[w.Priority], Erases: w.Erases}
	indexes := w.Texts && (w.Erases || s.indexIsFull(ctx))
	if w.Rows != nil && !indexes {
		o.Declared = &declaredWrite{w, fn}
	}
	err = shopError(s.engine.Write(ctx, o, func(t *engine.Tx) (engine.Touched, error) {
		alone := &tx{Tx: t, dialect: s.dialect}
		err := alone.run(fn, indexes)
		return alone.touched, err
	}))
	if w.Priority == shop.Bulk {
		s.backlog.expire()
	}
	s.metrics.countError(ctx, err)
	s.rememberFailure(err)
	return err
}

var priorities = [...]engine.Priority{
	shop.Interactive: engine.Interactive, shop.Bulk: engine.Bulk, shop.Background: engine.Background,
}

// afterWrite changes the version of the catalogue and wakes the event feed, before the writes return.
func (s *Store) afterWrite(touched engine.Touched, committed bool) {
	s.catalog.bump(touched)
	if committed {
		s.wake()
	}
}

// ReadLimits returns how many heavy reads may run at the same time and how long a read may take.
func (s *Store) ReadLimits() shop.ReadLimits {
	return shop.ReadLimits{Heavy: s.engine.HeavyReads(), Timeout: s.timeout}
}

// Publish makes the events from all committed writes readable. It does nothing on SQLite: there is only one writer, so
// events get their ids in the order of the commits.
func (s *Store) Publish(ctx context.Context) error {
	if s.server == nil {
		return nil
	}
	return shopError(s.server.Publish(ctx))
}

// Wakeups returns a channel that receives a value soon after a write. The first call makes the store listen
// for writes by other nodes. SQLite has no notifications, so the service polls for writes by other processes.
func (s *Store) Wakeups() <-chan struct{} {
	if s.server != nil {
		s.listen.Do(func() { go s.server.Listen(s.closed, s.wake) })
	}
	return s.wakeups
}

func (s *Store) wake() {
	select {
	case s.wakeups <- struct{}{}:
	default: // a wake-up is already pending
	}
}
