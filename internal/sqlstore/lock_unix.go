//go:build unix

package sqlstore

import (
	"errors"
	"os"
	"syscall"
)

// lock is a file that one process holds. The database's own file must not be used for this: opening and closing it
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

// release lets the next process in. The file stays: removing it would let two processes lock two files of one name.
func (l *lock) release() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}
