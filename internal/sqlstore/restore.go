package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Restored is what an operator has to know of a restore.
type Restored struct {
	Kept string // where the store is that was there before; empty: there was none
	// GoOn is the number after which new ids go on, because nobody could tell which were given out after the backup; 0: that
	// was known.
	GoOn int64
	// Keys are those that open the store again as they did at the time of the backup, and did not any more.
	Keys []string
}

// Restore puts a backup in the place of a store. Before it touches anything it looks through the backup as Check does, and calls
// tell for what it finds; damage is refused, and anything else needs force. So does a store that is there already, which is
// kept beside it. At any moment there is one of the two, whole. Nobody may serve it meanwhile.
//
// Ids that were given out after the backup are not given out again, and events that readers have seen since are marked as undone.
func Restore(ctx context.Context, file, database string, force bool, tell func(finding string)) (done Restored, err error) {
	if IsURL(database) {
		return done, errServerBackup
	}
	if sameFile(file, database) {
		return done, fmt.Errorf("%s is the store itself", file)
	}
	path, there, err := resolveTarget(database)
	if err != nil {
		return done, err
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return done, fmt.Errorf("cannot have the database %s alone: %w", path, err)
	}
	defer lock.release()
	if there && !force {
		return done, fmt.Errorf("there is a store in %s already; --force restores over it, and keeps it beside", path)
	}
	sound := false
	if there {
		if sound, err = isIntact(ctx, path); err != nil {
			return done, err
		}
	}
	fresh := path + ".restoring"
	if err := removeDatabase(fresh); err != nil { // of one that was killed
		return done, err
	}
	defer removeDatabase(fresh) // where it has got its name, there is nothing left to remove
	if err := unpackBackup(ctx, file, fresh, path); err != nil {
		return done, err
	}
	if done, err = continueIDs(ctx, fresh, path, sound); err != nil {
		return done, err
	}
	found, err := Check(ctx, fresh, tell)
	switch {
	case err != nil:
		return done, err
	case found.Damage > 0:
		return done, fmt.Errorf("%s cannot be restored: %w", file, errDamaged)
	case found.All > 0 && !force:
		return done, fmt.Errorf("%s breaks rules of the store; --force restores it all the same", file)
	}
	if err := syncFile(fresh); err != nil {
		return done, err
	}
	done.Kept, err = replace(ctx, fresh, path, there, sound)
	return done, err
}

// resolveTarget returns the one path of a database that everybody agrees on, and whether there is anything in it.
func resolveTarget(database string) (path string, there bool, err error) {
	if path, err = filepath.Abs(database); err != nil {
		return "", false, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		folder, err := filepath.EvalSymlinks(filepath.Dir(path))
		return filepath.Join(folder, filepath.Base(path)), false, err
	case err != nil:
		return "", false, err
	case info.IsDir():
		return "", false, fmt.Errorf("%s is a directory", path)
	}
	path, err = filepath.EvalSymlinks(path)
	return path, info.Size() > 0, err
}

// unpackBackup makes a new database of a backup, with the schema of today, for the same owner as the store's.
func unpackBackup(ctx context.Context, file, fresh, path string) error {
	backup, err := openSnapshot(ctx, file)
	if err != nil {
		return err
	}
	defer backup.close()
	empty, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot restore: %w", err)
	}
	if err := empty.Close(); err != nil {
		return err
	}
	if err := backup.vacuumInto(ctx, fresh); err != nil {
		return fmt.Errorf("cannot restore %s: %w", file, describeOpenError(err))
	}
	c := singleConn(fresh)
	defer c.close()
	if err := migrateSQLite(ctx, c); err != nil {
		return err
	}
	return errors.Join(chownLike(path, fresh), chownLike(path, path+".lock"))
}
