//go:build unix

package storeadmin

import (
	"os"
	"path/filepath"
	"syscall"
)

// chownLike gives a new file to the owner of a store, or of the store's folder. A restore by root must not
// lock the service out.
func chownLike(store, path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(store)
	if err != nil {
		if info, err = os.Stat(filepath.Dir(store)); err != nil {
			return err
		}
	}
	owner := info.Sys().(*syscall.Stat_t)
	return os.Chown(path, int(owner.Uid), int(owner.Gid))
}
