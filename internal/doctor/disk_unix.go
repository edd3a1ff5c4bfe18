//go:build linux || darwin || freebsd

package doctor

import (
	"os"
	"syscall"
)

// freeSpace returns the number of bytes that this user may still write to the disk that contains a folder.
func freeSpace(folder string) (uint64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(folder, &disk); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: folder, Err: err}
	}
	return uint64(disk.Bavail) * uint64(disk.Bsize), nil
}

// sameDisk reports whether two folders are on the same file system.
func sameDisk(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && first.Sys().(*syscall.Stat_t).Dev == second.Sys().(*syscall.Stat_t).Dev
}
