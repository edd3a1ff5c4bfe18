package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"animalstore/internal/shop"
)

// sqliteEngine stores the shop in one SQLite file in WAL mode. It has one connection for writing, a pool of
// connections for reading, and one for readiness checks.
type sqliteEngine struct {
	unlock      func() error // releases the lock on the file; nil if the file was not opened with Exclusive
	readers     chan *sqliteConn
	checker     chan *sqliteConn // one connection for readiness checks, so that they never wait for other reads
	writer      *writer
	closing     sync.Once
	closed      chan struct{}
	file        *openedFile
	dialect     *dialect
	metrics     *metrics
	spans       *spans
	afterWrite  func(changes effects, committed bool)
	readTimeout time.Duration
	catalog     localCatalog
}

func openSQLite(
	ctx context.Context, path string, o Options, m *metrics, traces *spans, afterWrite func(changes effects, committed bool),
) (*sqliteEngine, error) {
	path, err := resolveFile(path, o.Existing)
	if err != nil {
		return nil, err
	}
	s := &sqliteEngine{
		dialect: sqliteDialect(o.Now), metrics: m, spans: traces, closed: make(chan struct{}),
		readTimeout: cmp.Or(o.RetryBudget, defaultTimeout), catalog: localCatalog{exclusive: o.Exclusive},
	}
	s.afterWrite = func(changes effects, committed bool) {
		s.catalog.bump(changes)
		afterWrite(changes, committed)
	}
	if o.Exclusive {
		if s.unlock, err = Lock(path); err != nil {
			return nil, err
		}
	}
	if err := s.openWithRetry(ctx, path, o); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the database %s: %w", path, err), s.close())
	}
	return s, nil
}

// openWithRetry opens the database and tries again while the database is busy. If several processes create a
// database in the same new file at the same time, SQLite immediately returns SQLITE_BUSY to some of them,
// regardless of their busy timeout.
func (s *sqliteEngine) openWithRetry(ctx context.Context, path string, o Options) error {
	for end := time.Now().Add(lockTimeout(o)); ; {
		err := s.open(ctx, path, o)
		if err == nil || primaryCode(err) != sqlite.ResultBusy || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *sqliteEngine) open(ctx context.Context, path string, o Options) (err error) {
	if err := prepareSchema(ctx, path, o); err != nil {
		return err
	}
	if s.file, err = statOpened(path); err != nil {
		return err
	}
	s.readers = make(chan *sqliteConn, max(4, 2*runtime.GOMAXPROCS(0)))
	for range cap(s.readers) {
		s.readers <- storeConn(path, o)
	}
	s.checker = make(chan *sqliteConn, 1)
	s.checker <- storeConn(path, o)
	writing := storeConn(path, o, noAutocheckpoint)
	if o.Exclusive {
		if err := s.connectAll(ctx, writing); err != nil {
			return err
		}
	}
	s.writer = startWriter(writing, s.file, s.dialect, s.metrics, s.spans, s.afterWrite)
	return nil
}

// prepareSchema brings the schema of a SQLite file up to date. It first inspects the file without the store's
// pragmas, because setting journal_mode would change the database of another program.
func prepareSchema(ctx context.Context, path string, o Options) error {
	plain := newSQLiteConn(fileURI(path), lockTimeout(o))
	_, err := schemaVersion(ctx, plain)
	plain.close()
	if err != nil {
		return err
	}
	c := storeConn(path, o)
	defer c.close()
	if err := migrateSQLite(ctx, c); err != nil {
		return err
	}
	if o.Exclusive {
		return checkWritable(ctx, c)
	}
	return nil
}

// connectAll opens all connections when the store is opened, because clients may later use up the file
// descriptors of the process.
func (s *sqliteEngine) connectAll(ctx context.Context, writing *sqliteConn) error {
	all := []*sqliteConn{writing}
	for _, pool := range []chan *sqliteConn{s.readers, s.checker} {
		for range cap(pool) {
			c := <-pool
			all = append(all, c)
			pool <- c
		}
	}
	for _, c := range all {
		if err := c.exec(ctx, "BEGIN", nil); err != nil {
			for _, open := range all {
				open.close()
			}
			return err
		}
		c.rollback()
	}
	return nil
}

func (s *sqliteEngine) close() (err error) {
	s.closing.Do(func() {
		close(s.closed)
		if s.writer != nil {
			s.writer.stop()
			for range cap(s.readers) {
				(<-s.readers).close()
			}
			(<-s.checker).close()
		}
		if s.unlock != nil {
			err = s.unlock()
		}
	})
	return err
}

func (s *sqliteEngine) read(ctx context.Context, r shop.Reading, fn func(*tx) error) error {
	if r.State != nil {
		fn = s.readState(r.State, r.Version, fn)
	}
	return s.readOn(ctx, s.readers, r.Budget, fn)
}

// readOn runs fn on a connection from a pool. The time spent waiting for the connection counts towards the deadline. If
// the deadline passes or ctx ends, the running statement is interrupted, and the connection returns to the pool.
func (s *sqliteEngine) readOn(ctx context.Context, pool chan *sqliteConn, budget time.Duration, fn func(*tx) error) error {
	if err := s.file.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, max(s.readTimeout, budget))
	defer cancel()
	var c *sqliteConn
	select {
	case c = <-pool:
	case <-s.closed:
		return shop.UnavailableError(errClosed)
	case <-ctx.Done():
		return endedError(ctx.Err())
	}
	defer func() { pool <- c }()
	tx := &tx{ctx: ctx, runner: c, dialect: s.dialect}
	// Every read ends with a rollback, even after an error, a panic or an interrupt. So the next read gets a
	// clean connection.
	defer c.rollback()
	// BEGIN ignores ctx, because it does not do any work that would have to be interrupted.
	if err := c.exec(context.Background(), "BEGIN", nil); err != nil {
		return tx.fail(err)
	}
	return tx.run(func() error { return fn(tx) })
}

func (s *sqliteEngine) write(ctx context.Context, w shop.Writing, fn func(shop.WriteTx) error) error {
	return s.writer.write(ctx, w, fn)
}

// readLimits reserves half of the readers for reads that are not heavy. Heavy reads get the other half, about one
// reader for each processor, because SQLite runs in this process. One API key gets half of the readers for heavy reads,
// so a single key cannot keep all processors busy.
func (s *sqliteEngine) readLimits() shop.ReadLimits {
	return shop.ReadLimits{Heavy: cap(s.readers) / 2, Timeout: s.readTimeout}
}

// publish does nothing, because there is only one writer and events get their ids in commit order.
func (s *sqliteEngine) publish(context.Context) error { return nil }

// listen does nothing, because SQLite has no notifications. The service polls for writes by other processes.
func (s *sqliteEngine) listen(context.Context, func()) {}
