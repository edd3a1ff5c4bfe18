package shoptest

import (
	"os"
	"syscall"
	"testing"
)

// TempDir returns a directory for databases. The directory is removed when the test ends. If there is enough memory,
// the directory is in memory, because tests on a disk would spend most of their time waiting for SQLite's commits.
func TempDir(t testing.TB) string {
	t.Helper()
	const memory, enough = "/dev/shm", 1 << 30
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < enough {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "animalstore-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
