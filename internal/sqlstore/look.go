package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/jackc/pgx/v5/stdlib"
)

// look is one state of a store, which is only read: nothing is made, migrated or written, and a service may go on beside it.
type look struct {
	db      *sql.DB
	conn    *sql.Conn
	engine  *checkEngine
	version int // how many migrations have run
}

// lookAt begins to read a store. It refuses what is none, and one that a newer version has written.
func lookAt(ctx context.Context, database string) (*look, error) {
	l := &look{}
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
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *look) openServer(ctx context.Context, url string) error {
	config, _, err := parsePostgresURL(url)
	if err != nil {
		return err
	}
	config.ValidateConnect = nil // a standby will do
	l.db, l.engine = stdlib.OpenDB(*config), &serverChecks
	if l.version, err = versionOf(ctx, l.db); err != nil {
		return fmt.Errorf("cannot open the database: %w", err)
	}
	return nil
}

func (l *look) openFile(ctx context.Context, path string) error {
	path, err := prepareFile(path, true)
	if err != nil {
		return err
	}
	l.engine = &fileChecks
	err = l.readFile(ctx, dsn(path, busyTimeout(Options{}))+"&mode=ro")
	if code := primaryCode(err); (code == sqliteCantOpen || code == sqliteReadOnly) && noLog(path) {
		l.db.Close()
		err = l.readFile(ctx, dsn(path)+"?immutable=1") // SQLite wants to put files beside it, and may not
	}
	if err != nil {
		return fmt.Errorf("cannot read the database %s: %w", path, err)
	}
	return nil
}

func (l *look) readFile(ctx context.Context, dsn string) (err error) {
	if l.db, err = sql.Open("sqlite", dsn); err != nil {
		return err
	}
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	l.version, err = schemaVersion(ctx, conn)
	return err
}

// noLog tells whether all of a database is in its file.
func noLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

func (l *look) begin(ctx context.Context) (err error) {
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
	if l.conn, err = l.db.Conn(ctx); err != nil {
		return err
	}
	_, err = l.conn.ExecContext(ctx, l.engine.begin)
	return err
}

// close ends the transaction, too.
func (l *look) close() {
	if l.conn != nil {
		l.conn.Close()
	}
	if l.db != nil {
		l.db.Close()
	}
}

// each calls fn for every row of a query.
func (l *look) each(ctx context.Context, query string, fn func(scanner) error) error {
	rows, err := l.conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// number returns the first column of the first row of a query; 0 where there is none.
func (l *look) number(ctx context.Context, query string) (n int64, err error) {
	err = l.each(ctx, query, func(scan scanner) error { return scan(&n) })
	return n, err
}
