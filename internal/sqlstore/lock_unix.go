//go:build unix

package sqlstore

import (
	"errors"
	"os"
	"syscall"
)

// LockFile creates a file and locks it until unlock is called. The file must not be the database file,
// because closing any of its descriptors would release the locks that SQLite holds on it. unlock does not
// remove the file. If it did, two processes could lock two different files with the same name.
func LockFile(path string) (unlock func() error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, err
	}
	return func() error {
		// Closing alone would leave the lock to a child process that was forked meanwhile, until it calls exec.
		return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
	}, nil
}
