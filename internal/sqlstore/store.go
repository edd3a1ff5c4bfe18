// Package sqlstore keeps the shop in a SQL database. It is the only room that knows SQL.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"animalstore/internal/shop"
)

// Store is a shop.Store in one SQLite file: one connection that writes, and a pool of others that read beside it.
type Store struct {
	db      *sql.DB
	lock    *lock
	readers chan *conn
	writer  *writer
	closing sync.Once
	closed  chan struct{}
	file    *file
	now     func() time.Time
}

var errClosed = errors.New("the store is closed")

// errLocked is what lockFile returns while another process holds the lock.
var errLocked = errors.New("another animalstore serves it")

// Options say how a store is opened.
type Options struct {
	// Exclusive keeps every other process out that asks for the same. Those that do not may still read and write.
	Exclusive bool
	// Existing refuses a file that is not there, in place of making one.
	Existing bool
	// Now is the clock that holds run by; nil: the system's.
	Now func() time.Time
}

// Open opens the store in a file, which it makes where there is none. The schema is brought up to date.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	path, err := prepareFile(path, o.Existing)
	if err != nil {
		return nil, err
	}
	s := &Store{now: o.Now, closed: make(chan struct{})}
	if s.now == nil {
		s.now = time.Now
	}
	if o.Exclusive {
		if s.lock, err = lockFile(path + ".lock"); err != nil {
			return nil, fmt.Errorf("cannot have the database %s alone: %w", path, err)
		}
	}
	if err := s.openPatiently(ctx, path, o); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the database %s: %w", path, err), s.Close())
	}
	return s, nil
}

// openPatiently opens the database again while others do the same. When several processes turn a new file into a database
// at once, SQLite tells some of them at once that it is busy, whatever patience a connection has.
func (s *Store) openPatiently(ctx context.Context, path string, o Options) error {
	for end := time.Now().Add(patience(o)); ; {
		err := s.open(ctx, path, o)
		if err == nil || primaryCode(err) != sqliteBusy || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		if s.db != nil {
			s.db.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *Store) open(ctx context.Context, path string, o Options) (err error) {
	if err := checkOwner(ctx, dsn(path, busyTimeout(o))); err != nil {
		return err
	}
	if s.db, err = sql.Open("sqlite", dsn(path, settings(o)...)); err != nil {
		return err
	}
	s.db.SetMaxIdleConns(0) // connections are pooled here, each with its prepared statements
	if err := checkSQLite(ctx, s.db); err != nil {
		return err
	}
	if err := migrate(ctx, s.db); err != nil {
		return err
	}
	if o.Exclusive {
		if err := checkWritable(ctx, s.db); err != nil {
			return err
		}
	}
	if s.file, err = watchFile(path); err != nil {
		return err
	}
	s.readers = make(chan *conn, max(4, 2*runtime.GOMAXPROCS(0)))
	for range cap(s.readers) {
		s.readers <- newConn(s.db)
	}
	s.writer = startWriter(newConn(s.db), s.file, s.now)
	return nil
}

// Close finishes the writes that were accepted and closes the store. Whatever uses it later fails.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		close(s.closed)
		if s.writer != nil {
			s.writer.stop()
			for range cap(s.readers) {
				(<-s.readers).close()
			}
		}
		if s.db != nil {
			err = s.db.Close()
		}
		err = errors.Join(err, s.lock.release())
	})
	return err
}

// Read runs fn over one consistent state of the database.
func (s *Store) Read(ctx context.Context, fn func(shop.ReadTx) error) error {
	if err := s.file.check(); err != nil {
		return err
	}
	var c *conn
	select {
	case c = <-s.readers:
	case <-s.closed:
		return shop.UnavailableError(errClosed)
	case <-ctx.Done():
		return shop.UnavailableError(ctx.Err())
	}
	defer func() { s.readers <- c }()
	tx := &tx{ctx: ctx, conn: c, now: s.now}
	// The state was only read, so the way out is always a rollback. It runs after a failure, after a panic and for a
	// caller who has gone, too: the next one gets a clean connection.
	defer c.rollback()
	if err := tx.exec("BEGIN"); err != nil {
		return err
	}
	return tx.run(func() error { return fn(tx) })
}

// Write runs fn alone. What it wrote is on the disk when Write returns nil.
func (s *Store) Write(ctx context.Context, fn func(shop.WriteTx) error) error {
	return s.writer.do(ctx, func(tx *tx) error { return fn(tx) })
}
