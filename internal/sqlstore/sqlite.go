package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver, for migrations and whatever else is not done all the time

	"animalstore/internal/shop"
	"animalstore/internal/sqlite"
)

// sqliteEngine is one SQLite file: one connection that writes, and a pool of others that read beside it.
type sqliteEngine struct {
	db      *sql.DB
	lock    *lock
	readers chan *conn
	writer  *writer
	closing sync.Once
	closed  chan struct{}
	file    *file
	dialect *dialect
	metrics *metrics
	tell    func(did effects, done bool)
}

// errLocked is what lockFile returns while another process holds the lock.
var errLocked = errors.New("another animalstore serves it")

func openSQLite(ctx context.Context, path string, o Options, m *metrics, tell func(did effects, done bool)) (*sqliteEngine, error) {
	path, err := prepareFile(path, o.Existing)
	if err != nil {
		return nil, err
	}
	s := &sqliteEngine{dialect: sqliteDialect(o.Now), metrics: m, tell: tell, closed: make(chan struct{})}
	if o.Exclusive {
		if s.lock, err = lockFile(path + ".lock"); err != nil {
			return nil, fmt.Errorf("cannot have the database %s alone: %w", path, err)
		}
	}
	if err := s.openPatiently(ctx, path, o); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the database %s: %w", path, err), s.close())
	}
	return s, nil
}

// openPatiently opens the database again while others do the same. When several processes turn a new file into a database
// at once, SQLite tells some of them at once that it is busy, whatever patience a connection has.
func (s *sqliteEngine) openPatiently(ctx context.Context, path string, o Options) error {
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

func (s *sqliteEngine) open(ctx context.Context, path string, o Options) (err error) {
	if err := checkOwner(ctx, dsn(path, busyTimeout(o))); err != nil {
		return err
	}
	if s.db, err = sql.Open("sqlite", dsn(path, settings(o)...)); err != nil {
		return err
	}
	s.db.SetMaxIdleConns(0) // it is for the migrations; all else has connections with prepared statements
	if err := checkSQLite(ctx, s.db); err != nil {
		return err
	}
	if err := migrateSQLite(ctx, s.db); err != nil {
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
		s.readers <- newConn(func() (*sqlite.Conn, error) { return sqlite.Open(dsn(path), settings(o)...) })
	}
	writing := newConn(func() (*sqlite.Conn, error) { return sqlite.Open(dsn(path), append(settings(o), noAutocheckpoint)...) })
	if o.Exclusive {
		if err := s.connect(ctx, writing); err != nil {
			return err
		}
	}
	s.writer = startWriter(writing, s.file, s.dialect, s.metrics, s.tell)
	return nil
}

// connect opens all connections before they are needed: clients may use up the descriptors of the process, and are served all
// the same.
func (s *sqliteEngine) connect(ctx context.Context, writing *conn) error {
	all := []*conn{writing}
	for range cap(s.readers) {
		c := <-s.readers
		all = append(all, c)
		s.readers <- c
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
		}
		if s.db != nil {
			err = s.db.Close()
		}
		err = errors.Join(err, s.lock.release())
	})
	return err
}

func (s *sqliteEngine) read(ctx context.Context, fn func(*tx) error) error {
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
	tx := &tx{ctx: ctx, runner: c, dialect: s.dialect}
	// The state was only read, so the way out is always a rollback. It runs after a failure, after a panic and for a
	// caller who has gone, too: the next one gets a clean connection.
	defer c.rollback()
	if err := tx.exec("BEGIN"); err != nil {
		return err
	}
	defer c.heed(ctx)()
	return tx.run(func() error { return fn(tx) })
}

func (s *sqliteEngine) write(ctx context.Context, fn func(shop.WriteTx) error) error {
	return s.writer.do(ctx, fn)
}

// publish has nothing to do: there is one writer, so events are written in the order in which they are committed.
func (s *sqliteEngine) publish(context.Context) error { return nil }

// listen hears nothing: the commands that write beside a service are found when it looks.
func (s *sqliteEngine) listen(context.Context, func()) {}

// SQLite's primary result codes, as its documentation numbers them.
const (
	sqliteBusy      = 5
	sqliteLocked    = 6
	sqliteNoMem     = 7
	sqliteReadOnly  = 8
	sqliteInterrupt = 9
	sqliteIOErr     = 10
	sqliteCorrupt   = 11
	sqliteFull      = 13
	sqliteCantOpen  = 14
	sqliteProtocol  = 15
	sqliteNotADB    = 26
)

func primaryCode(err error) int {
	type coded interface { // ours, and the driver's
		error
		Code() int
	}
	if e, ok := errors.AsType[coded](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// sqliteError says what a failure of the driver means for the caller: whether the database is away, or we are wrong.
func sqliteError(err error) error {
	switch primaryCode(err) {
	case sqliteBusy, sqliteLocked, sqliteNoMem, sqliteReadOnly, sqliteInterrupt, sqliteIOErr, sqliteCorrupt, sqliteFull,
		sqliteCantOpen, sqliteProtocol, sqliteNotADB:
		return shop.UnavailableError(err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sql.ErrConnDone) {
		return shop.UnavailableError(err)
	}
	return shop.InternalError(err)
}

// plainError says in plain words what an operator can mend when a database does not open.
func plainError(err error) error {
	switch primaryCode(err) {
	case sqliteNotADB:
		return errors.New("the file is not a database")
	case sqliteCorrupt:
		return fmt.Errorf("the file is damaged: %w", err)
	case sqliteCantOpen:
		return fmt.Errorf("it cannot be read or written by this user, or its folder cannot: %w", err)
	}
	return err
}
