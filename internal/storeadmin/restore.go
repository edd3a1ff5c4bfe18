package storeadmin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"animalstore/internal/sqlstore"
	"animalstore/internal/sqlstore/sqlite"
)

// RestoreOptions says how to restore a backup.
type RestoreOptions struct {
	Force bool
	// LastID is the largest id of an animal, order, category, key or webhook that was assigned after the backup, or
	// nil if the operator does not know it.
	LastID *int64
}

// Restored tells the operator what a restore has done.
type Restored struct {
	Kept string // the path where the previous store is kept, or "" if there was none
	// GoOn is the id after which new ids continue if it is not known which ids were assigned after the backup. It is 0
	// if this is known.
	GoOn int64
	// GoOnEvents is like GoOn, but for the positions of events and the ids of webhook deliveries. The two differ only
	// if the operator has given the last id, because that id has no effect on GoOnEvents.
	GoOnEvents int64
	// Keys describes the keys that were revoked or rotated after the backup and are now valid again.
	Keys []string
}

// Restore replaces a store with a backup. It first runs Check on a copy of the backup and calls report for each
// finding. It fails if the backup is damaged. Without Force, it also fails if there is any other finding or if a store
// already exists. An existing store is kept next to the new one. At any time, the path contains either the complete old
// store or the complete new one. No service may use the store during the restore.
//
// Ids that were assigned after the backup are not assigned again. Events that were published after the backup are
// marked as undone.
func Restore(ctx context.Context, file, database string, options RestoreOptions, report func(finding string)) (done Restored, err error) {
	if sqlstore.IsURL(database) {
		return done, errServerBackup
	}
	if sameFile(file, database) {
		return done, fmt.Errorf("%s is the store itself", file)
	}
	path, exists, err := resolveTarget(database)
	if err != nil {
		return done, err
	}
	unlock, err := sqlite.Lock(path)
	if err != nil {
		return done, err
	}
	defer unlock()
	if exists && !options.Force {
		return done, fmt.Errorf("%s already has a store; --force replaces it, and keeps the old one beside it", path)
	}
	intact := false
	if exists {
		if intact, err = sqlite.IsIntact(ctx, path); err != nil {
			return done, err
		}
	}
	fresh := path + ".restoring"
	if err := removeDatabase(fresh); err != nil { // a restore that was killed may have left this file behind
		return done, err
	}
	defer removeDatabase(fresh) // no effect after the rename
	if err := unpackBackup(ctx, file, fresh); err != nil {
		return done, err
	}
	if err := errors.Join(chownLike(path, fresh), chownLike(path, path+".lock")); err != nil {
		return done, err
	}
	if done, err = continueIDs(ctx, fresh, path, intact, options.LastID); err != nil {
		return done, err
	}
	found, err := Check(ctx, fresh, report)
	switch {
	case err != nil:
		return done, err
	case found.Damage > 0:
		return done, fmt.Errorf("%s cannot be restored: %w", file, errDamaged)
	case found.All > 0 && !options.Force:
		return done, fmt.Errorf("%s breaks rules of the store; --force restores it anyway", file)
	}
	if err := syncFile(fresh); err != nil {
		return done, err
	}
	done.Kept, err = replace(ctx, fresh, path, exists, intact)
	return done, err
}

// resolveTarget returns the absolute path of a database after resolving symbolic links. exists is true if the
// file exists and is not empty.
func resolveTarget(database string) (path string, exists bool, err error) {
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

// unpackBackup copies a backup into a new database and migrates the copy.
func unpackBackup(ctx context.Context, file, fresh string) error {
	backup, err := sqlstore.OpenReadOnly(ctx, file)
	if err != nil {
		return err
	}
	defer backup.Close()
	empty, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot restore: %w", err)
	}
	if err := empty.Close(); err != nil {
		return err
	}
	if err := backup.VacuumInto(ctx, fresh); err != nil {
		return fmt.Errorf("cannot restore %s: %w", file, err)
	}
	c := sqlstore.OpenFile(fresh)
	defer c.Close()
	return c.Migrate(ctx)
}
