package storeadmin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"animalstore/internal/sqlstore"
	"animalstore/internal/sqlstore/sqlite"
)

var (
	errServerBackup = errors.New("a PostgreSQL server is backed up and restored with its own tools, such as pg_dump and pg_restore")
	errDamaged      = errors.New("it is damaged (run animalstore check for details)")
)

// Backup writes a snapshot of a store file to another file. A service may use the store at the same time. The snapshot
// gets its final name only after Check has found no damage in it, so there is never an incomplete backup. Backup calls
// report for each finding. It replaces an existing file only if force is true.
func Backup(ctx context.Context, database, file string, force bool, report func(finding string)) (found Findings, err error) {
	if sqlstore.IsURL(database) {
		return found, errServerBackup
	}
	if err := checkTarget(database, file, force); err != nil {
		return found, err
	}
	source, err := sqlstore.OpenReadOnly(ctx, database)
	if err != nil {
		return found, err
	}
	defer source.Close()
	// CreateTemp makes the file readable only by its owner.
	partial, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*.partial")
	if err != nil {
		return found, fmt.Errorf("cannot write the backup: %w", err)
	}
	partial.Close()
	defer removeDatabase(partial.Name()) // no effect after the rename
	if err := source.VacuumInto(ctx, partial.Name()); err != nil {
		return found, fmt.Errorf("cannot write the backup: %w", err)
	}
	found, err = Check(ctx, partial.Name(), report)
	switch {
	case errors.Is(err, ErrOlderSchema): // the backup will be migrated and checked when it is restored
	case err != nil:
		return found, fmt.Errorf("cannot read the backup: %w", err)
	case found.Damage > 0:
		return found, fmt.Errorf("%s was not backed up: %w", database, errDamaged)
	}
	if err := syncFile(partial.Name()); err != nil {
		return found, fmt.Errorf("cannot write the backup: %w", err)
	}
	if err := os.Rename(partial.Name(), file); err != nil {
		return found, fmt.Errorf("cannot write the backup: %w", err)
	}
	return found, syncFolder(file)
}

// checkTarget returns an error if the backup would replace the store itself, a directory or a database that is in use.
// Without force, it also returns an error if the file already exists.
func checkTarget(database, file string, force bool) error {
	if sameFile(database, file) {
		return fmt.Errorf("%s is the store itself", file)
	}
	info, err := os.Lstat(file)
	switch {
	case err != nil: // the file does not exist, or creating it will report the problem
		return nil
	case info.IsDir():
		return fmt.Errorf("%s is a directory; name the file to write", file)
	case !force:
		return fmt.Errorf("%s already exists; --force replaces it", file)
	case sqlite.HasWAL(file):
		return fmt.Errorf("%s is a database in use; it cannot be replaced", file)
	}
	return nil
}

// sidecars lists the suffixes of the files that SQLite creates next to a database file.
var sidecars = []string{"-wal", "-shm", "-journal"}

// removeDatabase removes a database file and its sidecars if they exist. The database must not be in use.
func removeDatabase(path string) error {
	for _, suffix := range append([]string{""}, sidecars...) {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// syncFile flushes a file to disk so that its contents survive a power failure.
func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
