//go:build unix

package doctor

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// checkWritable returns an error if this user may not write to an existing file or folder. It writes nothing.
func checkWritable(path string) error {
	err := unix.Access(path, unix.W_OK)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return &os.PathError{Op: "access", Path: path, Err: err}
}
