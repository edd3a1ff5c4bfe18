package sqlite

import (
	"errors"
	"fmt"
	"time"
)

// ErrLocked is returned by LockFile while another process holds the lock.
var ErrLocked = errors.New("it is already in use by another animalstore")

// Lock prevents services from opening a file, in the same way as Open with Options.Exclusive.
func Lock(path string) (unlock func() error, err error) {
	unlock, err = LockFile(lockPath(path))
	if err != nil {
		return nil, fmt.Errorf("cannot lock the database %s: %w", path, err)
	}
	return unlock, nil
}

// lockPath returns the path of the file that is locked together with a database file.
func lockPath(path string) string { return path + ".lock" }

// lockTimeout returns how long a connection waits for a lock held by another process. SQLite's locks are not
// fair, so a command may have to wait a long time while a busy service is running. The service, however, must
// not keep its clients waiting.
func lockTimeout(exclusive bool) time.Duration {
	if exclusive {
		return 5 * time.Second
	}
	return time.Minute
}
