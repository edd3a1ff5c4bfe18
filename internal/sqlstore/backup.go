package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

var (
	errServerBackup = errors.New("a PostgreSQL server is backed up and restored with its own tools, such as pg_dump and pg_restore")
	errDamaged      = errors.New("it is damaged (animalstore check says where)")
)

// Backup writes the store in a file into another file, as it is at one moment, while a service may go on with it. The other file
// is there whole and readable in the end, looked through as Check does, or not at all; tell is called for what is found
// wrong with the store itself. One that is there already is replaced only with force.
func Backup(ctx context.Context, database, file string, force bool, tell func(finding string)) (found Findings, err error) {
	if IsURL(database) {
		return found, errServerBackup
	}
	if err := checkTarget(database, file, force); err != nil {
		return found, err
	}
	source, err := openSnapshot(ctx, database)
	if err != nil {
		return found, err
	}
	defer source.close()
	partial, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*.partial") // for its owner alone
	if err != nil {
		return found, fmt.Errorf("cannot write the backup: %w", err)
	}
	partial.Close()
	defer removeDatabase(partial.Name()) // where it has got its name, there is nothing left to remove
	if err := source.vacuumInto(ctx, partial.Name()); err != nil {
		return found, fmt.Errorf("cannot write the backup: %w", describeOpenError(err))
	}
	found, err = Check(ctx, partial.Name(), tell)
	switch {
	case errors.Is(err, ErrOlderSchema): // it will be looked through when it is restored
	case err != nil:
		return found, fmt.Errorf("cannot read the backup: %w", err)
	case found.Damage > 0:
		return found, fmt.Errorf("no backup was written of %s: %w", database, errDamaged)
	}
	if err := syncFile(partial.Name()); err != nil {
		return found, fmt.Errorf("cannot write the backup: %w", err)
	}
	if err := os.Rename(partial.Name(), file); err != nil {
		return found, fmt.Errorf("cannot write the backup: %w", err)
	}
	return found, syncFolder(file)
}

// checkTarget refuses to put a backup where something else is.
func checkTarget(database, file string, force bool) error {
	if sameFile(database, file) {
		return fmt.Errorf("%s is the store itself", file)
	}
	info, err := os.Lstat(file)
	switch {
	case err != nil: // whatever it is, making the file will say so
		return nil
	case info.IsDir():
		return fmt.Errorf("%s is a directory; name the file to write", file)
	case !force:
		return fmt.Errorf("%s is there already; --force replaces it", file)
	case !walIsEmpty(file):
		return fmt.Errorf("%s is a database in use; nothing else can take its place", file)
	}
	return nil
}

// sidecars are the files that SQLite puts beside a database.
var sidecars = []string{"-wal", "-shm", "-journal"}

// removeDatabase removes a database that nobody uses, where there is one.
func removeDatabase(path string) error {
	for _, suffix := range append([]string{""}, sidecars...) {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// syncFile makes sure that what was written survives a power cut.
func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
