package sqlite

import (
	"errors"
	"syscall"
)

// LockFile opens a file in a way that prevents other processes from opening it until unlock is called. It returns
// ErrLocked if another process has opened the file.
func LockFile(path string) (unlock func() error, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const sharingViolation = syscall.Errno(32)
	handle, err := syscall.CreateFile(name, syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, err
	}
	return func() error { return syscall.CloseHandle(handle) }, nil
}
