//go:build unix

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// LockFile locks a file until unlock is called. It creates the file if it does not exist, and returns ErrLocked if
// another process has locked it. The file must not be the database file, because closing any descriptor of that file
// would release the locks that SQLite holds on it. unlock does not remove the file. If it did, two processes could
// lock two different files with the same name.
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
		// Release the lock explicitly. If a child process has just been forked, it has a copy of the descriptor until
		// it calls exec, and closing the file here would not release the lock.
		return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
	}, nil
}
