package e2e

import (
	"os"
	"strings"
	"testing"

	"animalstore/internal/programtest"
)

// TestFilesAreReadableByOwnerOnly creates databases under umask 000, so that only the program itself
// restricts the file permissions.
func TestFilesAreReadableByOwnerOnly(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolder(t)
	r := f.Shell("umask 000 && animalstore keys create --name me && animalstore copy --to copy.db && " +
		"{ animalstore serve --addr 127.0.0.1:0 2>log & until grep -q listening log; do sleep 0.05; done; kill -9 $!; }; umask 077; rm log")
	if r.Code != 0 {
		t.Fatalf("got %v, want exit code 0", r)
	}
	names := f.Names()
	for _, want := range []string{"animalstore.db", "animalstore.db-shm", "animalstore.db-wal", "animalstore.db.lock", "copy.db"} {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+want+" ") {
			t.Errorf("files: got %q, want %s among them", names, want)
		}
	}
	for _, name := range names {
		info, err := os.Stat(f.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("mode of %s: got %v, want -rw-------", name, info.Mode())
		}
	}
}
