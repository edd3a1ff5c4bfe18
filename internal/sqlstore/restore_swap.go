package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"zombiezen.com/go/sqlite"
)

// errInUse is returned while another process has the store open.
var errInUse = errors.New("another program has it open")

// singleConn returns a connection to a database that no one else uses. It does not switch the file to WAL
// mode.
func singleConn(path string) *conn {
	return newConn(fileURI(path), 5*time.Second, pragma{"synchronous", "2"})
}

// replace renames a new database to the path of the old one, and returns the path where the old one is kept.
//
// A WAL belongs to one database and would destroy another at the same path. So the old WAL is checkpointed
// first, and the old database stays locked until the rename. A damaged database is moved away as it is, with
// its WAL.
func replace(ctx context.Context, fresh, path string, exists, intact bool) (kept string, err error) {
	kept = previousName(path)
	release := func() {}
	if intact {
		if release, err = lockExclusively(ctx, path); err != nil {
			return "", fmt.Errorf("cannot lock the database %s: %w", path, err)
		}
	} else if err := moveSidecars(path, kept); err != nil { // also where only the database file was removed
		return "", err
	}
	defer release()
	if !exists {
		return "", errors.Join(os.Rename(fresh, path), syncFolder(path))
	}
	if runtime.GOOS == "windows" { // it cannot rename an open file
		release()
	}
	if err := os.Link(path, kept); err != nil { // a link, so that the path has a store at any moment
		if err := os.Rename(path, kept); err != nil { // a file system without links
			return "", err
		}
	}
	if err := os.Rename(fresh, path); err != nil {
		return "", err
	}
	return kept, syncFolder(path)
}

// isIntact reports whether SQLite finds no damage in a file. It opens the file read-only, since a recovery
// would change the evidence.
func isIntact(ctx context.Context, path string) (bool, error) {
	c := newConn(fileURI(path, "mode=ro"), lockTimeout(Options{}))
	defer c.close()
	var verdict string
	_, err := firstRow(ctx, c, "PRAGMA quick_check(1)", &verdict)
	if code := primaryCode(err); code == sqlite.ResultCorrupt || code == sqlite.ResultNotADB {
		return false, nil
	}
	return verdict == "ok", err
}

// lockExclusively moves the WAL into the database file, and locks out all other connections until release is
// called.
func lockExclusively(ctx context.Context, path string) (release func(), err error) {
	c := singleConn(path)
	var mode string
	if _, err = firstRow(ctx, c, "PRAGMA journal_mode = DELETE", &mode); err == nil {
		err = c.exec(ctx, "BEGIN EXCLUSIVE", nil)
	}
	if primaryCode(err) == sqlite.ResultBusy || err == nil && mode != "delete" {
		err = errInUse
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c.close, nil
}

// moveSidecars renames the files beside a database along with it.
func moveSidecars(path, kept string) error {
	for _, suffix := range sidecars {
		if err := os.Rename(path+suffix, kept+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// previousName returns an unused path beside a database, under which the old one is kept.
func previousName(path string) string {
	name := path + ".before-" + time.Now().UTC().Format("2006-01-02T15-04-05Z")
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return name
		}
		name = fmt.Sprintf("%s.before-%s-%d", path, time.Now().UTC().Format("2006-01-02T15-04-05Z"), n)
	}
}

// syncFolder makes renames in the folder of a file survive a power cut.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" { // it needs no sync, and has none
		return nil
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
