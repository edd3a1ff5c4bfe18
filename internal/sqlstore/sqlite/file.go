package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"animalstore/internal/sqlstore/engine"
)

// resolveFile returns the absolute path of a database file without symbolic links, so that all processes lock
// the same name. If the file does not exist, resolveFile creates it, unless existing is set. Only the owner
// may read a new file. SQLite copies the file's permissions to the WAL.
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

// IsIntact reports whether a file is free of any damage that SQLite can find. It opens the file read-only, so that
// SQLite cannot try to recover the file and thereby change it.
func IsIntact(ctx context.Context, path string) (bool, error) {
	c := newConn(fileURI(path, "mode=ro"), lockTimeout(false))
	defer c.Close()
	var verdict string
	_, err := engine.FirstRow(ctx, c, "PRAGMA quick_check(1)", &verdict)
	if IsDamaged(err) {
		return false, nil
	}
	return verdict == "ok", err
}

// fileURI returns the URI for a database file, with query parameters such as mode=ro.
func fileURI(path string, parameters ...string) string {
	query := strings.Join(parameters, "&")
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query}).String()
}

// checkWritable returns an error if the database is read-only. It executes a statement, because BEGIN IMMEDIATE succeeds
// even if the database is read-only.
func checkWritable(ctx context.Context, c *Conn, probe string) error {
	err := c.Exec(ctx, "BEGIN IMMEDIATE", nil)
	if err == nil {
		defer c.rollback()
		err = c.Exec(ctx, probe, []any{1})
	}
	if err != nil {
		return fmt.Errorf("it cannot be written: %w", err)
	}
	return nil
}

// openedFile identifies the database file that the engine has opened. If this file is removed, SQLite
// continues to use it, but its contents are lost when the process ends. A new connection would open a
// different file if there is now one at the same path.
type openedFile struct {
	path string
	info os.FileInfo
}

func statOpened(path string) (*openedFile, error) {
	info, err := os.Stat(path)
	return &openedFile{path, info}, err
}

var errFileReplaced = errors.New("the database file was removed or replaced while it was open; put it back, or restart the service")

// check returns an unavailable error if the path no longer leads to the file that the engine has opened.
func (f *openedFile) check() error {
	if info, err := os.Stat(f.path); err != nil || !os.SameFile(info, f.info) {
		return &engine.Error{Kind: engine.Replaced, Class: engine.Unavailable, Err: errFileReplaced}
	}
	return nil
}

// HasWAL reports whether the SQLite file at path has a WAL file that is not empty. It also returns true if
// the WAL file cannot be inspected.
func HasWAL(path string) bool {
	info, err := os.Stat(path + "-wal")
	return !errors.Is(err, fs.ErrNotExist) && (err != nil || info.Size() > 0)
}
