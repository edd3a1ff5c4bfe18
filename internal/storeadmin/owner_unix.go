//go:build unix

package storeadmin

import (
	"os"
	"path/filepath"
	"syscall"
)

// chownLike gives a new file the same owner as the store or, if there is no store, the same owner as the store's
// folder. Without this, a restore by root would lock out the service. chownLike does nothing if the process does not
// run as root.
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
