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

// errInUse is what replace returns while another process has the store open.
var errInUse = errors.New("another program has it open")

// singleConn opens a database that nobody else uses, in one file without a log beside it.
func singleConn(path string) *conn {
	return newConn(fileURI(path), 5*time.Second, pragma{"synchronous", "2"})
}

// replace puts a new database in the place of another, and returns where that is kept.
//
// A log beside a database belongs to it alone: under another it would destroy it. So the old one takes its log in first, and
// is held until it has been replaced, in one step. One that is damaged is moved away as it is.
func replace(ctx context.Context, fresh, path string, there, sound bool) (kept string, err error) {
	kept = previousName(path)
	release := func() {}
	if sound {
		if release, err = lockExclusively(ctx, path); err != nil {
			return "", fmt.Errorf("cannot have the database %s alone: %w", path, err)
		}
	} else if err := moveSidecars(path, kept); err != nil { // also where somebody has removed the database alone
		return "", err
	}
	defer release()
	if !there {
		return "", errors.Join(os.Rename(fresh, path), syncFolder(path))
	}
	if runtime.GOOS == "windows" { // where nobody can rename what is open
		release()
	}
	if err := os.Link(path, kept); err != nil { // so that there is a store under its name at any moment
		if err := os.Rename(path, kept); err != nil { // where there are no links, but for this one
			return "", err
		}
	}
	if err := os.Rename(fresh, path); err != nil {
		return "", err
	}
	return kept, syncFolder(path)
}

// isIntact tells whether a file is a database that SQLite finds no damage in. It only reads: SQLite would mend what it can, and
// the damage is to be kept as it is.
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

// lockExclusively makes a database one whole file, and keeps everybody out of it until it is released.
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

// moveSidecars moves the files beside a database to where the database will be kept.
func moveSidecars(path, kept string) error {
	for _, suffix := range sidecars {
		if err := os.Rename(path+suffix, kept+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// previousName is a name beside a database that nothing has yet.
func previousName(path string) string {
	name := path + ".before-" + time.Now().UTC().Format("2006-01-02T15-04-05Z")
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return name
		}
		name = fmt.Sprintf("%s.before-%s-%d", path, time.Now().UTC().Format("2006-01-02T15-04-05Z"), n)
	}
}

// syncFolder makes sure that the names in the folder of a file survive a power cut.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" { // which does that itself
		return nil
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
