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
		for _, path := range []string{p.path, p.dir} {
			if err := os.Chown(path, want, want); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect := func(path string) {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := int(info.Sys().(*syscall.Stat_t).Uid); got != want || info.Mode() != 0o600 {
			t.Errorf("%s belongs to %d, with the mode %v; want %d", filepath.Base(path), got, info.Mode(), want)
		}
	}
	done := p.restore(file)
	expect(p.path)
	expect(p.path + ".lock")
	expect(done.Kept)
	if err := removeDatabase(p.path); err != nil {
		t.Fatal(err)
	}
	p.restore(file) // without a previous store, the folder determines the owner
	expect(p.path)
}
