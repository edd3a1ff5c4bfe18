package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"animalstore/internal/shop"
)

// resolveFile returns the absolute path of a database file, without symbolic links, so that all processes
// lock the same name. It creates a missing file unless existing is set. Only the owner may read a new file;
// SQLite copies its permissions to the WAL.
func resolveFile(path string, existing bool) (string, error) {
	if !existing {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			err = file.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("cannot create the database: %w", err)
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

// Lock locks the file of a store against services, as Open does with Options.Exclusive.
func Lock(path string) (unlock func() error, err error) {
	unlock, err = lockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("cannot lock the database %s: %w", path, err)
	}
	return unlock, nil
}

// IsIntact reports whether SQLite finds no damage in a file. It opens the file read-only, since a recovery
// would change the evidence.
func IsIntact(ctx context.Context, path string) (bool, error) {
	c := newSQLiteConn(fileURI(path, "mode=ro"), lockTimeout(Options{}))
	defer c.close()
	var verdict string
	_, err := firstRow(ctx, c, "PRAGMA quick_check(1)", &verdict)
	if IsDamaged(err) {
		return false, nil
	}
	return verdict == "ok", err
}

// lockTimeout is how long a connection waits for a lock of another process. SQLite's locks are not fair: a
// command beside a busy service may have to wait for long, while the service must not keep its clients
// waiting.
func lockTimeout(o Options) time.Duration {
	if o.Exclusive {
		return 5 * time.Second
	}
	return time.Minute
}

// storeConn returns a connection to a store.
func storeConn(path string, o Options, more ...pragma) *sqliteConn {
	pragmas := []pragma{
		{"journal_mode", "wal"},
		{"synchronous", "2"}, // FULL: a commit survives a power cut
		{"foreign_keys", "1"},
	}
	return newSQLiteConn(fileURI(path), lockTimeout(o), append(pragmas, more...)...)
}

// noAutocheckpoint is set for the writer, which checkpoints after its members have returned. SQLite's own
// checkpoint runs at the end of COMMIT: readers would see the commit milliseconds before the store's catalog
// version changes.
var noAutocheckpoint = pragma{"wal_autocheckpoint", "0"}

// fileURI returns the URI of a database file, with parameters such as mode=ro.
func fileURI(path string, parameters ...string) string {
	query := strings.Join(parameters, "&")
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query}).String()
}

// checkWritable returns an error for a database that is read-only. BEGIN IMMEDIATE succeeds there: only a
// statement that would write fails.
func checkWritable(ctx context.Context, c *sqliteConn) error {
	if err := execAll(ctx, c, "BEGIN IMMEDIATE", "DELETE FROM settings WHERE name = ''", "ROLLBACK"); err != nil {
		return fmt.Errorf("it cannot be written: %w", err)
	}
	return nil
}

// openedFile identifies the database file that the store has opened. When the file is removed, SQLite goes on
// with the open one, whose contents are lost when the process ends, and a new connection would open the file
// that has taken its place.
type openedFile struct {
	path string
	info os.FileInfo
}

func statOpened(path string) (*openedFile, error) {
	info, err := os.Stat(path)
	return &openedFile{path, info}, err
}

var errFileReplaced = errors.New("the database file was removed or replaced while it was open; put it back, or restart the service")

// check returns an unavailable error when the path no longer leads to the file that was opened.
func (f *openedFile) check() error {
	if info, err := os.Stat(f.path); err != nil || !os.SameFile(info, f.info) {
		return shop.UnavailableError(errFileReplaced)
	}
	return nil
}
