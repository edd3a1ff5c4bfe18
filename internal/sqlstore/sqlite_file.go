package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/shop"
)

// resolveFile makes sure of the database's file and returns the one path that everybody who opens it agrees on. A new
// file is for its owner alone; SQLite gives the files beside it the same permissions.
func resolveFile(path string, existing bool) (string, error) {
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

// lockTimeout is how long a connection waits for another process. SQLite's lock is not fair: a command beside a busy service
// may have to wait for long, while the service itself must not keep its clients waiting.
func lockTimeout(o Options) time.Duration {
	if o.Exclusive {
		return 5 * time.Second
	}
	return time.Minute
}

// storeConn returns a connection to a store. A commit that was acknowledged survives a power cut (synchronous is FULL).
func storeConn(path string, o Options, more ...pragma) *conn {
	pragmas := []pragma{{"journal_mode", "wal"}, {"synchronous", "2"}, {"foreign_keys", "1"}}
	return newConn(fileURI(path), lockTimeout(o), append(pragmas, more...)...)
}

// noAutocheckpoint is a setting of the writer, which checkpoints after it has answered. With SQLite's own checkpoint, at the end
// of COMMIT, readers would see a commit some milliseconds before the writer counts it.
var noAutocheckpoint = pragma{"wal_autocheckpoint", "0"}

// fileURI returns the URI of a database, with parameters such as mode=ro.
func fileURI(path string, parameters ...string) string {
	query := strings.Join(parameters, "&")
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query}).String()
}

// minSQLiteVersion is the first version without a bug in WAL mode that could corrupt a database.
const minSQLiteVersion = "3.51.3"

func checkSQLiteVersion(ctx context.Context, c *conn) error {
	var version string
	if _, err := firstRow(ctx, c, "SELECT sqlite_version()", &version); err != nil {
		return describeOpenError(err)
	}
	if versionLess(version, minSQLiteVersion) {
		return fmt.Errorf("SQLite %s can corrupt it; %s or newer is needed", version, minSQLiteVersion)
	}
	return nil
}

// checkWritable refuses a database that can be read but not written: it would start as if all were well.
func checkWritable(ctx context.Context, c *conn) error {
	// SQLite begins a transaction on such a database without a word, and refuses the first statement that would write.
	if err := execAll(ctx, c, "BEGIN IMMEDIATE", "DELETE FROM settings WHERE name = ''", "ROLLBACK"); err != nil {
		return fmt.Errorf("it cannot be written: %w", err)
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

// openedFile is the database's file as it was when it was opened. SQLite goes on with a file that somebody has removed, and
// what is written into it is lost with the process; a new connection would even open whatever has taken its place.
type openedFile struct {
	path string
	info os.FileInfo
}

func statOpened(path string) (*openedFile, error) {
	info, err := os.Stat(path)
	return &openedFile{path, info}, err
}

var errFileReplaced = errors.New("the database's file was removed or replaced while it was open; put it back, or start again")

// check returns unavailable where the file is no longer the one that was opened.
func (f *openedFile) check() error {
	if info, err := os.Stat(f.path); err != nil || !os.SameFile(info, f.info) {
		return shop.UnavailableError(errFileReplaced)
	}
	return nil
}
