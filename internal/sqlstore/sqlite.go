package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"

	"animalstore/internal/shop"
)

// prepareFile makes sure of the database's file and returns the one path that everybody who opens it agrees on. A new
// file is for its owner alone; SQLite gives the files beside it the same permissions.
func prepareFile(path string, existing bool) (string, error) {
	if !existing {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			err = file.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("cannot make the database: %w", err)
		}
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory", path)
	}
	if err != nil {
		return "", fmt.Errorf("cannot open the database: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// patience is how long a connection waits for another process. SQLite's lock is not fair: a command beside a busy service
// may have to wait for long, while the service itself must not keep its clients waiting.
func patience(o Options) time.Duration {
	if o.Exclusive {
		return 5 * time.Second
	}
	return time.Minute
}

func busyTimeout(o Options) string {
	return fmt.Sprintf("busy_timeout(%d)", patience(o).Milliseconds())
}

// settings are those of every connection. The timeout comes first: the others may have to wait.
func settings(o Options) []string {
	return []string{
		busyTimeout(o),
		"journal_mode(WAL)",
		"synchronous(FULL)", // a commit that was answered survives a power cut
		"foreign_keys(1)",
	}
}

// dsn carries the settings, so that no connection can be without them.
func dsn(path string, settings ...string) string {
	query := url.Values{"_pragma": settings}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query.Encode()}).String()
}

// leastSQLite is the first version without a bug in WAL mode that could corrupt a database.
const leastSQLite = "3.51.3"

func checkSQLite(ctx context.Context, db *sql.DB) error {
	var version, mode string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return plainError(err)
	}
	if versionLess(version, leastSQLite) {
		return fmt.Errorf("SQLite %s can corrupt it; %s or newer is needed", version, leastSQLite)
	}
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return plainError(err)
	}
	if mode != "wal" {
		return fmt.Errorf("its journal mode is %q and cannot be changed to \"wal\"", mode)
	}
	return nil
}

// checkWritable refuses a database that can be read but not written: it would start as if all were well.
func checkWritable(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// SQLite begins a transaction on such a database without a word, and refuses the first statement that would write.
	for _, statement := range []string{"BEGIN IMMEDIATE", "DELETE FROM settings WHERE name = ''", "ROLLBACK"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("it cannot be written: %w", err)
		}
	}
	return nil
}

func versionLess(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, _ := strconv.Atoi(as[i])
		y, _ := strconv.Atoi(bs[i])
		if x != y {
			return x < y
		}
	}
	return len(as) < len(bs)
}

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
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// storeError says what a failure of the driver means for the caller: whether the database is away, or we are wrong.
func storeError(err error) error {
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
	}
	return err
}
