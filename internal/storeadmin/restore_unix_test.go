//go:build unix

package storeadmin

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A restore by root leaves the store owned by the service's user.
func TestRestoreKeepsTheOwner(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.backup("backup.db")
	want := os.Geteuid()
	if want == 0 {
		want = 65534
		for _, path := range []string{p.path, filepath.Dir(p.path)} {
			noError(t, os.Chown(path, want, want))
		}
	}
	expect := func(path string) {
		t.Helper()
		info := must(os.Stat(path))(t)
		if got := int(info.Sys().(*syscall.Stat_t).Uid); got != want || info.Mode() != 0o600 {
			t.Errorf("%s belongs to %d, with the mode %v; want %d", filepath.Base(path), got, info.Mode(), want)
		}
	}
	done := p.restore(file)
	expect(p.path)
	expect(p.path + ".lock")
	expect(done.Kept)
	noError(t, removeDatabase(p.path))
	p.restore(file) // without a previous store, the folder determines the owner
	expect(p.path)
}
