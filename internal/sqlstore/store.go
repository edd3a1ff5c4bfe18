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
	now     func() time.Time
}

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
	s := &Store{now: o.Now}
	if s.now == nil {
		s.now = time.Now
	}
	if o.Exclusive {
		if s.lock, err = lockFile(path + ".lock"); err != nil {
			return nil, fmt.Errorf("cannot have the database %s alone: %w", path, err)
		}
	}
	if err := s.open(ctx, path, o); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the database %s: %w", path, err), s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, path string, o Options) (err error) {
	if err := checkOwner(ctx, dsn(path, patience(o))); err != nil {
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
	s.readers = make(chan *conn, max(4, 2*runtime.GOMAXPROCS(0)))
	for range cap(s.readers) {
		s.readers <- newConn(s.db)
	}
	s.writer = startWriter(newConn(s.db), s.now)
	return nil
}

// Close finishes the writes that were accepted and closes the store. Whatever uses it later fails.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
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
	var c *conn
	select {
	case c = <-s.readers:
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
