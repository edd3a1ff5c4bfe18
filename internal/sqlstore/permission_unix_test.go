//go:build unix

package sqlstore

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOnlyTheOwnerCanReadAStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	addPets(t, open(t, path, Options{Exclusive: true}), 1)
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		info, err := os.Stat(path + suffix)
		must(t, err)
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s has the mode %o, want 600", filepath.Base(path)+suffix, got)
		}
	}
}
