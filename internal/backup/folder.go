// Package backup backs up a store at regular intervals. Each backup is a file in one folder. The oldest backups
// are removed.
package backup

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"animalstore/internal/sqlstore/sqlite"
)

// timeFormat is the format of the time in the name of a backup, in UTC.
const timeFormat = "20060102T150405Z"

// Folder is a folder with the backups of one store. A backup gets its final name, such as shop-20270131T020000Z.db,
// only after it has been checked. So every file with such a name is a complete backup.
type Folder struct {
	path    string
	store   string         // the name of the store's file without its extension
	name    *regexp.Regexp // matches the names of backups
	partial *regexp.Regexp // matches the files of an incomplete backup
}

// File is a backup.
type File struct {
	Path string
	Time time.Time // when the backup was started
	Size int64
}

// NewFolder returns the folder at path. It holds the backups of the store whose file is database. NewFolder does not
// access the folder.
func NewFolder(path, database string) *Folder {
	store := strings.TrimSuffix(filepath.Base(database), ".db")
	name := regexp.QuoteMeta(store) + `-[0-9]{8}T[0-9]{6}Z\.db`
	return &Folder{path, store, regexp.MustCompile("^" + name + "$"), regexp.MustCompile(`^\.` + name + `\.[0-9]+\.partial(?:-wal|-shm|-journal)?$`)}
}

// Path returns the path of the folder.
func (f *Folder) Path() string { return f.path }

// Check returns an error if the folder does not exist.
func (f *Folder) Check() error {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the folder %s does not exist; create it", f.path)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", f.path)
	}
	return nil
}

// CheckWritable returns an error if no file can be created in the folder. It creates one and removes it.
func (f *Folder) CheckWritable() error {
	probe, err := os.CreateTemp(f.path, ".animalstore.*.probe")
	if err != nil {
		return fmt.Errorf("the folder %s cannot be written: %w", f.path, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// errFolderInUse is returned by Lock while another process holds the lock.
var errFolderInUse = errors.New("is in use by another animalstore; use a separate folder for each store")

// Lock prevents other processes from using the folder until unlock is called. Without the lock, two stores whose files
// have the same name would remove each other's backups.
func (f *Folder) Lock() (unlock func() error, err error) {
	unlock, err = sqlite.LockFile(filepath.Join(f.path, ".animalstore.lock"))
	if errors.Is(err, sqlite.ErrLocked) {
		return nil, fmt.Errorf("the backup folder %s %w", f.path, errFolderInUse)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot lock the backup folder: %w", err)
	}
	return unlock, nil
}

// fileName returns the path for a backup that is started at the given time.
func (f *Folder) fileName(at time.Time) string {
	return filepath.Join(f.path, f.store+"-"+at.UTC().Format(timeFormat)+".db")
}

// Files returns the backups, newest first.
func (f *Folder) Files() ([]File, error) {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !f.name.MatchString(entry.Name()) {
			continue
		}
		text := strings.TrimSuffix(strings.TrimPrefix(entry.Name(), f.store+"-"), ".db")
		at, err := time.Parse(timeFormat, text)
		if err != nil {
			continue // the digits in the name are not a valid time, so the file is not a backup
		}
		info, err := entry.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue // the file has been removed in the meantime
		}
		if err != nil {
			return nil, err
		}
		files = append(files, File{filepath.Join(f.path, entry.Name()), at, info.Size()})
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(b.Time.Unix(), a.Time.Unix()) })
	return files, nil
}

// prune removes the oldest backups until only keep backups are left. It never removes the backup at the path fresh.
// That backup may seem to be the oldest if the clock was set back. prune returns the number of removed files.
func (f *Folder) prune(keep int, fresh string) (removed int, err error) {
	files, err := f.Files()
	if err != nil {
		return 0, err
	}
	kept := 1 // the backup at fresh is always kept
	for _, file := range files {
		switch {
		case file.Path == fresh:
		case kept < keep:
			kept++
		default:
			if err := os.Remove(file.Path); err != nil {
				return removed, err
			}
			removed++
		}
	}
	return removed, nil
}

// removePartial removes the files that a process left behind because it was killed during a backup. The folder must
// be locked.
func (f *Folder) removePartial() error {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Type().IsRegular() && f.partial.MatchString(entry.Name()) {
			if err := os.Remove(filepath.Join(f.path, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
