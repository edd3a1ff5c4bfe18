package storeadmin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"animalstore/internal/sqlstore"
)

var (
	errServerBackup = errors.New("a PostgreSQL server is backed up and restored with its own tools, such as pg_dump and pg_restore")
	errDamaged      = errors.New("it is damaged (run animalstore check for details)")
)

// Backup writes a snapshot of the store in a file into another file, while a service may go on. The backup is
// checked as by Check before it gets its name: there is a complete backup or none. Backup calls report for
// each finding about the store. It replaces an existing file only with force.
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
	partial, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*.partial") // only its owner may read it
	if err != nil {
		return found, fmt.Errorf("cannot write the backup: %w", err)
	}
	partial.Close()
	defer removeDatabase(partial.Name()) // does nothing after the rename
	if err := source.VacuumInto(ctx, partial.Name()); err != nil {
		return found, fmt.Errorf("cannot write the backup: %w", err)
	}
	found, err = Check(ctx, partial.Name(), report)
	switch {
	case errors.Is(err, ErrOlderSchema): // it will be checked when it is restored
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

// checkTarget fails where the backup would replace something that it must not.
func checkTarget(database, file string, force bool) error {
	if sameFile(database, file) {
		return fmt.Errorf("%s is the store itself", file)
	}
	info, err := os.Lstat(file)
	switch {
	case err != nil: // creating the file will fail with the reason
		return nil
	case info.IsDir():
		return fmt.Errorf("%s is a directory; name the file to write", file)
	case !force:
		return fmt.Errorf("%s already exists; --force replaces it", file)
	case sqlstore.HasWAL(file):
		return fmt.Errorf("%s is a database in use; it cannot be replaced", file)
	}
	return nil
}

// sidecars are the suffixes of the files that SQLite creates beside a database.
var sidecars = []string{"-wal", "-shm", "-journal"}

// removeDatabase removes a database that is not in use, if it exists.
func removeDatabase(path string) error {
	for _, suffix := range append([]string{""}, sidecars...) {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// syncFile makes the contents of a file survive a power cut.
func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
