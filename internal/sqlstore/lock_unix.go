//go:build unix

package sqlstore

import (
	"errors"
	"os"
	"syscall"
)

// lockFile creates a file and locks it until unlock is called. It is not the database file: closing any
// descriptor of that would drop the locks that SQLite holds on it. unlock does not remove the file: then two
// processes could lock two files of the same name.
func lockFile(path string) (unlock func() error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, err
	}
	return file.Close, nil
}
