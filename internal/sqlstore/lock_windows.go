package sqlstore

import (
	"errors"
	"syscall"
)

// lock is a file that one process has opened without sharing.
type lock struct{ handle syscall.Handle }

func lockFile(path string) (*lock, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const sharingViolation = syscall.Errno(32)
	handle, err := syscall.CreateFile(name, syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	return &lock{handle}, nil
}

func (l *lock) release() error {
	if l == nil {
		return nil
	}
	return syscall.CloseHandle(l.handle)
}
