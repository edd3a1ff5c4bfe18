package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"zombiezen.com/go/sqlite"
)

// snapshot is a read transaction on a store. It creates, migrates and writes nothing, and a service may go on
// beside it.
type snapshot struct {
	session
	engine  *checkEngine
	version int    // the number of migrations that have run
	uri     string // of the file; empty for a server
}

// openSnapshot begins to read a store. It fails where there is none, and for a store that a newer version has
// written.
func openSnapshot(ctx context.Context, database string) (*snapshot, error) {
	s := &snapshot{}
	var err error
	if IsURL(database) {
		err = s.openServer(ctx, database)
	} else {
		err = s.openFile(ctx, database)
	}
	if err == nil {
		err = s.begin(ctx)
	}
	if err != nil {
		if s.session != nil {
			s.close()
		}
		return nil, err
	}
	return s, nil
}

func (s *snapshot) openServer(ctx context.Context, url string) error {
	config, _, err := parsePostgresURL(url)
	if err != nil {
		return err
	}
	config.ValidateConnect = nil // a standby will do
	s.engine = &serverChecks
	session, err := openPostgresSession(ctx, config)
	if err != nil {
		return fmt.Errorf("cannot open the database: %w", err)
	}
	s.session = session
	s.version, err = postgresVersion(ctx, session)
	return err
}

func (s *snapshot) openFile(ctx context.Context, path string) error {
	path, err := resolveFile(path, true)
	if err != nil {
		return err
	}
	s.engine = &sqliteChecks
	err = s.readFile(ctx, fileURI(path, "mode=ro"))
	if code := primaryCode(err); (code == sqlite.ResultCantOpen || code == sqlite.ResultReadOnly) && walIsEmpty(path) {
		s.close()
		err = s.readFile(ctx, fileURI(path, "immutable=1")) // SQLite cannot create the files beside it
	}
	if err != nil {
		return fmt.Errorf("cannot read the database %s: %w", path, err)
	}
	return nil
}

func (s *snapshot) readFile(ctx context.Context, uri string) (err error) {
	s.uri, s.session = uri, newConn(uri, lockTimeout(Options{}))
	s.version, err = schemaVersion(ctx, s)
	return err
}

// walIsEmpty reports whether a database has no WAL, or an empty one.
func walIsEmpty(path string) bool {
	info, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

func (s *snapshot) begin(ctx context.Context) (err error) {
	steps, err := readMigrations(s.engine.name)
	if err != nil {
		return err
	}
	switch {
	case s.version == 0:
		return errNoStore
	case s.version > len(steps):
		return errNewer(s.version, len(steps))
	}
	return s.exec(ctx, s.engine.begin, nil)
}

// vacuumInto writes the current contents of the file into another file. VACUUM needs a connection without a
// transaction.
func (s *snapshot) vacuumInto(ctx context.Context, path string) error {
	c := newConn(s.uri, lockTimeout(Options{}))
	defer c.close()
	return c.exec(ctx, "VACUUM INTO $1", []any{path})
}

// each calls fn for every row of a query.
func (s *snapshot) each(ctx context.Context, query string, fn func(scanner) error) error {
	return eachRow(ctx, s, query, fn)
}

// number returns the first column of the first row of a query, or 0 without rows.
func (s *snapshot) number(ctx context.Context, query string) (n int64, err error) {
	_, err = firstRow(ctx, s, query, &n)
	return n, err
}
