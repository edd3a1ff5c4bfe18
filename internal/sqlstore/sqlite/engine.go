// Package sqlite is the engine for a SQLite file. It has one connection for writing, a pool of connections for reading,
// and one for readiness checks. All writes go through one writer, which commits those of waiting clients in one
// transaction. The package does not know what the tables contain.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"zombiezen.com/go/sqlite"

	"animalstore/internal/sqlstore/engine"
)

// Options contains the settings for Open.
type Options struct {
	engine.Options
	Schema Schema
	// Exclusive locks the file against other processes that open it with Exclusive. Other processes may still read and
	// write it.
	Exclusive bool
	// ReadProbe is a query that shows whether the tables can be read. WriteProbe is a statement that inserts $1 rows
	// of 1 KiB. It is always rolled back.
	ReadProbe, WriteProbe string
}

// Engine implements engine.Engine for one SQLite file in WAL mode.
type Engine struct {
	options Options
	unlock  func() error // releases the lock on the file; nil if the file was not opened with Exclusive
	readers chan *Conn
	checker chan *Conn // one connection for readiness checks, so that they never wait for other reads
	writer  *writer
	closing sync.Once
	closed  chan struct{}
	file    *openedFile
}

// Open opens the file at path and brings its schema up to date. It creates the file, unless Options.Existing is set.
func Open(ctx context.Context, path string, o Options) (*Engine, error) {
	path, err := resolveFile(path, o.Existing)
	if err != nil {
		return nil, err
	}
	s := &Engine{options: o, closed: make(chan struct{})}
	if o.Exclusive {
		if s.unlock, err = Lock(path); err != nil {
			return nil, err
		}
	}
	if err := s.openWithRetry(ctx, path); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the database %s: %w", path, err), s.Close())
	}
	return s, nil
}

// openWithRetry opens the database and tries again while the database is busy. If several processes create a
// database in the same new file at the same time, SQLite immediately returns SQLITE_BUSY to some of them,
// regardless of their busy timeout.
func (s *Engine) openWithRetry(ctx context.Context, path string) error {
	for end := time.Now().Add(lockTimeout(s.options.Exclusive)); ; {
		err := s.open(ctx, path)
		if err == nil || primaryCode(err) != sqlite.ResultBusy || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *Engine) open(ctx context.Context, path string) (err error) {
	if err := prepareSchema(ctx, path, s.options); err != nil {
		return err
	}
	if s.file, err = statOpened(path); err != nil {
		return err
	}
	exclusive, left := s.options.Exclusive, HasWAL(path)
	s.readers = make(chan *Conn, max(4, 2*runtime.GOMAXPROCS(0)))
	for range cap(s.readers) {
		s.readers <- storeConn(path, exclusive)
	}
	s.checker = make(chan *Conn, 1)
	s.checker <- storeConn(path, exclusive)
	writing := storeConn(path, exclusive, noAutocheckpoint, limitWAL)
	if exclusive {
		if err := s.connectAll(ctx, writing); err != nil {
			return err
		}
	}
	s.writer = startWriter(writing, s.file, s.options.Options, left)
	return nil
}

// connectAll opens all connections when the database is opened, because clients may later use up the file
// descriptors of the process.
func (s *Engine) connectAll(ctx context.Context, writing *Conn) error {
	all := []*Conn{writing}
	for _, pool := range []chan *Conn{s.readers, s.checker} {
		for range cap(pool) {
			c := <-pool
			all = append(all, c)
			pool <- c
		}
	}
	for _, c := range all {
		if err := c.Exec(ctx, "BEGIN", nil); err != nil {
			for _, open := range all {
				open.Close()
			}
			return err
		}
		c.rollback()
	}
	return nil
}

// Close waits until all accepted writes have finished and closes the database.
func (s *Engine) Close() (err error) {
	s.closing.Do(func() {
		close(s.closed)
		if s.writer != nil {
			s.writer.stop()
			for range cap(s.readers) {
				(<-s.readers).Close()
			}
			(<-s.checker).Close()
		}
		if s.unlock != nil {
			err = s.unlock()
		}
	})
	return err
}

// Connect returns a new connection to the file. The caller must close it.
func (s *Engine) Connect() *Conn { return storeConn(s.file.path, s.options.Exclusive) }

// Read runs fn on a snapshot. The stamp has no version and no time, because the file has no clock.
func (s *Engine) Read(ctx context.Context, o engine.ReadOptions, fn func(*engine.Tx) error) (engine.Stamp, error) {
	return s.readOn(ctx, s.readers, o, fn)
}

// readOn runs fn on a connection from a pool. The time spent waiting for the connection counts towards the deadline. If
// the deadline passes or ctx ends, the running statement is interrupted, and the connection returns to the pool.
func (s *Engine) readOn(
	ctx context.Context, pool chan *Conn, o engine.ReadOptions, fn func(*engine.Tx) error,
) (stamp engine.Stamp, err error) {
	if err := s.file.check(); err != nil {
		return stamp, err
	}
	ctx, cancel := context.WithTimeout(ctx, max(s.options.Timeout, o.Timeout))
	defer cancel()
	var c *Conn
	select {
	case c = <-pool:
	case <-s.closed:
		return stamp, engine.ClosedError()
	case <-ctx.Done():
		return stamp, engine.EndedError(ctx.Err())
	}
	defer func() { pool <- c }()
	t := &engine.Tx{Ctx: ctx, Conn: c, Convert: convertError}
	// Every read ends with a rollback, even after an error, a panic or an interrupt. So the next read gets a
	// clean connection.
	defer c.rollback()
	// BEGIN ignores ctx, because it does not do any work that would have to be interrupted.
	if err := c.Exec(context.Background(), "BEGIN", nil); err != nil {
		return stamp, t.Fail(err)
	}
	if err := t.Outcome(fn(t)); err != nil || o.Value == "" {
		return stamp, err
	}
	if _, err := engine.FirstRow(ctx, c, o.Value, &stamp.Value); err != nil {
		return stamp, t.Fail(err)
	}
	return stamp, nil
}

// Write queues a write for the writer.
func (s *Engine) Write(ctx context.Context, o engine.WriteOptions, alone func(*engine.Tx) (engine.Touched, error)) error {
	return s.writer.queue.Do(engine.NewWrite(ctx, o, alone))
}

// Ready executes Options.ReadProbe.
func (s *Engine) Ready(ctx context.Context) error {
	_, err := s.readOn(ctx, s.checker, engine.ReadOptions{}, func(t *engine.Tx) error {
		_, err := engine.All(t, func(engine.Scanner) (none struct{}, err error) { return none, nil }, s.options.ReadProbe)
		return err
	})
	return err
}

// TryWrite executes Options.WriteProbe in a savepoint and rolls it back. It then sets application_id to the value that it
// already has, so that the commit writes a page.
//
// SQLite keeps changed pages in the cache of the connection, and would not write any of the probe to the disk before
// COMMIT. So TryWrite makes the cache small for a moment, and SQLite has to move the pages to the WAL.
func (s *Engine) TryWrite(ctx context.Context) error {
	return s.Write(ctx, engine.WriteOptions{}, func(t *engine.Tx) (engine.Touched, error) {
		c := s.writer.conn
		if err := c.set(pragma{"cache_size", "10"}); err != nil {
			return 0, t.Fail(err)
		}
		defer c.set(pragma{"cache_size", "-2000"}) // SQLite's default
		t.Exec("SAVEPOINT probe")
		t.Exec(s.options.WriteProbe, engine.ProbeSize/1024)
		t.Exec("ROLLBACK TO probe")
		t.Exec("RELEASE probe")
		return 0, t.Exec(fmt.Sprintf("PRAGMA application_id = %d", s.options.Schema.ApplicationID))
	})
}

// HeavyReads reserves half of the readers for reads that are not heavy. Heavy reads get the other half, about one
// reader for each processor, because SQLite runs in this process.
func (s *Engine) HeavyReads() int { return cap(s.readers) / 2 }

// Collectors returns nothing, because this engine has no metrics of its own.
func (s *Engine) Collectors() []prometheus.Collector { return nil }
