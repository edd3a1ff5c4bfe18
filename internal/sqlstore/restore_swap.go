package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// errInUse is what replace returns while another process has the store open.
var errInUse = errors.New("another program has it open")

// openAlone opens a database that nobody else uses, in one file without a log beside it.
func openAlone(path string) (*sql.DB, error) {
	return sql.Open("sqlite", dsn(path, "busy_timeout(5000)", "synchronous(FULL)"))
}

// replace puts a new database in the place of another, and returns where that is kept.
//
// A log beside a database belongs to it alone: under another it would destroy it. So the old one takes its log in first, and
// is held until it has been replaced, in one step. One that is damaged is moved away as it is.
func replace(ctx context.Context, fresh, path string, there, sound bool) (kept string, err error) {
	kept = keptName(path)
	release := func() {}
	if sound {
		if release, err = holdAlone(ctx, path); err != nil {
			return "", fmt.Errorf("cannot have the database %s alone: %w", path, err)
		}
	} else if err := moveBeside(path, kept); err != nil { // also where somebody has removed the database alone
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

// isSound tells whether a file is a database that SQLite finds no damage in. It only reads: SQLite would mend what it can, and
// the damage is to be kept as it is.
func isSound(ctx context.Context, path string) (bool, error) {
	db, err := sql.Open("sqlite", dsn(path, busyTimeout(Options{}))+"&mode=ro")
	if err != nil {
		return false, err
	}
	defer db.Close()
	var verdict string
	err = db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict)
	if code := primaryCode(err); code == sqliteCorrupt || code == sqliteNotADB {
		return false, nil
	}
	return verdict == "ok", err
}

// holdAlone makes a database one whole file, and keeps everybody out of it until it is released.
func holdAlone(ctx context.Context, path string) (release func(), err error) {
	db, err := openAlone(path)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, err
	}
	release = func() {
		conn.Close() // ends the transaction, too
		db.Close()
	}
	var mode string
	if err = conn.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode); err == nil {
		_, err = conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
	}
	if primaryCode(err) == sqliteBusy || err == nil && mode != "delete" {
		err = errInUse
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// moveBeside moves the files beside a database to where the database will be kept.
func moveBeside(path, kept string) error {
	for _, suffix := range beside {
		if err := os.Rename(path+suffix, kept+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// keptName is a name beside a database that nothing has yet.
func keptName(path string) string {
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
