package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/programtest"
)

// TestSecondServiceOnDatabaseIsRefused starts a second service on a database that is in use. It gives the
// database as a relative path, as an absolute path and as a symlink.
func TestSecondServiceOnDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	first := f.Serve()
	created, _ := first.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	if err := os.Symlink("animalstore.db", f.Path("link.db")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"animalstore.db", f.Path("animalstore.db"), "./link.db"} {
		r := f.Run("serve", "--addr", programtest.TakenAddr(t), "--database", name)
		programtest.ExpectRefusal(t, r, 1, "animalstore.db", "already in use by another animalstore")
	}
	if pets := first.Walk(); !slices.Equal(pets, []programtest.Pet{created}) {
		t.Errorf("the first service has %+v, want %+v", pets, created)
	}

	first.Kill()
	if pets := f.Serve("--database", "link.db").Walk(); !slices.Equal(pets, []programtest.Pet{created}) {
		t.Errorf("the next service has %+v, want %+v", pets, created)
	}
}

// TestConcurrentFirstStartsShareOneDatabase starts a service and many commands in the same empty folder at
// the same time.
func TestConcurrentFirstStartsShareOneDatabase(t *testing.T) {
	t.Parallel()
	const commands = 8
	f := programtest.NewFolder(t)
	p := f.Start()
	keys := make(chan string, commands)
	for range commands {
		go func() { keys <- f.Run("keys", "create", "--name", "n").Stdout }()
	}
	p.AwaitReady()
	seen := map[string]bool{}
	for range commands {
		key := <-keys
		if !programtest.IssuedKey.MatchString(key) || seen[key] {
			t.Errorf("keys create printed %q, want a new key", key)
		}
		seen[key] = true
		programtest.ExpectStatus(t, p.Send("GET", "/v1/pets", strings.TrimSpace(key), ""), 200)
	}
	p.Stop()
	checkIntegrity(t, f.Path("animalstore.db"))
}

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
	if want := []string{"animalstore.db", "animalstore.db-shm", "animalstore.db-wal", "animalstore.db.lock", "copy.db"}; !slices.Equal(names, want) {
		t.Errorf("files: got %q, want %q", names, want)
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
