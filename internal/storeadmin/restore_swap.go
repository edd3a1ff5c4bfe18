package storeadmin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"animalstore/internal/sqlstore"
	"animalstore/internal/sqlstore/sqlite"
)

// errInUse is returned if another process has the store open.
var errInUse = errors.New("another program has it open")

// replace moves a new database to the path of the old one and returns the path where the old one is kept.
//
// A WAL belongs to one database and would corrupt any other database at the same path. Therefore, the old WAL
// is checkpointed first, and the old database stays locked until the rename. A damaged database is moved away
// unchanged, together with its WAL.
func replace(ctx context.Context, fresh, path string, exists, intact bool) (kept string, err error) {
	kept = previousName(path)
	release := func() {}
	if intact {
		if release, err = lockExclusively(ctx, path); err != nil {
			return "", fmt.Errorf("cannot lock the database %s: %w", path, err)
		}
	} else if err := moveSidecars(path, kept); err != nil { // a WAL may have been left behind without its database
		return "", err
	}
	defer release()
	if !exists {
		return "", errors.Join(os.Rename(fresh, path), syncFolder(path))
	}
	if runtime.GOOS == "windows" { // Windows cannot rename an open file
		release()
	}
	if err := os.Link(path, kept); err != nil { // a hard link, so that the path is never without a store
		if err := os.Rename(path, kept); err != nil { // the file system may not support links
			return "", err
		}
	}
	if err := os.Rename(fresh, path); err != nil {
		return "", err
	}
	return kept, syncFolder(path)
}

// lockExclusively moves the contents of the WAL into the database file and locks out all other connections
// until release is called.
func lockExclusively(ctx context.Context, path string) (release func(), err error) {
	c := sqlstore.OpenFile(path)
	var mode string
	if _, err = c.First(ctx, "PRAGMA journal_mode = DELETE", &mode); err == nil {
		err = c.Exec(ctx, "BEGIN EXCLUSIVE")
	}
	if sqlite.IsBusy(err) || err == nil && mode != "delete" {
		err = errInUse
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c.Close, nil
}

// moveSidecars renames the files that SQLite has created next to a database, such as the WAL.
func moveSidecars(path, kept string) error {
	for _, suffix := range sidecars {
		if err := os.Rename(path+suffix, kept+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// previousName returns an unused path, next to the database, where the old database can be kept.
func previousName(path string) string {
	name := path + ".before-" + time.Now().UTC().Format("2006-01-02T15-04-05Z")
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return name
		}
		name = fmt.Sprintf("%s.before-%s-%d", path, time.Now().UTC().Format("2006-01-02T15-04-05Z"), n)
	}
}

// syncFolder flushes the folder that contains a file to disk, so that renames in it survive a power failure.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" { // Windows cannot sync folders and does not need to
		return nil
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
