//go:build unix

package sqlstore

import (
	"errors"
	"os"
	"syscall"
)

// lock is a file that one process has locked. It is not the database file: closing any descriptor of that
// would drop the locks that SQLite holds on it.
type lock struct{ file *os.File }

func lockFile(path string) (*lock, error) {
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
	return &lock{file}, nil
}

// release unlocks the file. It does not remove it: then two processes could lock two files of the same name.
func (l *lock) release() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}
