package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/jackc/pgx/v5/stdlib"
	"zombiezen.com/go/sqlite"
)

// snapshot is a read transaction on a store. It creates, migrates and writes nothing, and a service may go on beside it.
type snapshot struct {
	session
	engine  *checkEngine
	version int    // the number of migrations that have run
	uri     string // of the file; empty for a server
}

// openSnapshot begins to read a store. It fails where there is none, and for a store that a newer version has written.
func openSnapshot(ctx context.Context, database string) (*snapshot, error) {
	l := &snapshot{}
	var err error
	if IsURL(database) {
		err = l.openServer(ctx, database)
	} else {
		err = l.openFile(ctx, database)
	}
	if err == nil {
		err = l.begin(ctx)
	}
	if err != nil {
		if l.session != nil {
			l.close()
		}
		return nil, err
	}
	return l, nil
}

func (l *snapshot) openServer(ctx context.Context, url string) error {
	config, _, err := parsePostgresURL(url)
	if err != nil {
		return err
	}
	config.ValidateConnect = nil // a standby will do
	l.engine = &serverChecks
	db := stdlib.OpenDB(*config)
	if l.version, err = versionOf(ctx, db); err != nil {
		db.Close()
		return fmt.Errorf("cannot open the database: %w", err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return err
	}
	l.session = &serverSession{conn, db}
	return nil
}

func (l *snapshot) openFile(ctx context.Context, path string) error {
	path, err := resolveFile(path, true)
	if err != nil {
		return err
	}
	l.engine = &sqliteChecks
	err = l.readFile(ctx, fileURI(path, "mode=ro"))
	if code := primaryCode(err); (code == sqlite.ResultCantOpen || code == sqlite.ResultReadOnly) && walIsEmpty(path) {
		l.close()
		err = l.readFile(ctx, fileURI(path, "immutable=1")) // SQLite cannot create the files beside it
	}
	if err != nil {
		return fmt.Errorf("cannot read the database %s: %w", path, err)
	}
	return nil
}

func (l *snapshot) readFile(ctx context.Context, uri string) (err error) {
	l.uri, l.session = uri, newConn(uri, lockTimeout(Options{}))
	l.version, err = schemaVersion(ctx, l)
	return err
}

// walIsEmpty reports whether a database has no WAL, or an empty one.
func walIsEmpty(path string) bool {
	info, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

func (l *snapshot) begin(ctx context.Context) (err error) {
	steps, err := readMigrations(l.engine.name)
	if err != nil {
		return err
	}
	switch {
	case l.version == 0:
		return errNoStore
	case l.version > len(steps):
		return errNewer(l.version, len(steps))
	}
	return l.exec(ctx, l.engine.begin, nil)
}

// vacuumInto writes the current contents of the file into another file. VACUUM needs a connection without a transaction.
func (l *snapshot) vacuumInto(ctx context.Context, path string) error {
	c := newConn(l.uri, lockTimeout(Options{}))
	defer c.close()
	return c.exec(ctx, "VACUUM INTO $1", []any{path})
}

// each calls fn for every row of a query.
func (l *snapshot) each(ctx context.Context, query string, fn func(scanner) error) error {
	return eachRow(ctx, l, query, fn)
}

// number returns the first column of the first row of a query, or 0 without rows.
func (l *snapshot) number(ctx context.Context, query string) (n int64, err error) {
	_, err = firstRow(ctx, l, query, &n)
	return n, err
}
