package e2e

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestFirstStartCreatesPrivateFiles starts the service in an empty folder. The new store must contain no
// animals, and only the owner may have access to its files.
func TestFirstStartCreatesPrivateFiles(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	if pets := p.walk(); len(pets) != 0 {
		t.Errorf("a new store has the animals %+v, want none", pets)
	}
	p.create(pet{Name: "Rex", CategoryID: 1})
	for _, name := range f.names() { // the names include the files that SQLite creates next to the database
		info, err := os.Stat(f.path(name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s has the mode %v, want -rw-------", name, info.Mode())
		}
	}
	if !slices.Contains(f.names(), "animalstore.db") {
		t.Errorf("the folder has %q, want animalstore.db, too", f.names())
	}
}

// TestSecondServiceOnDatabaseIsRefused starts a second service on a database that is in use. It gives the
// database as a relative path, as an absolute path and as a symlink.
func TestSecondServiceOnDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	first := f.serve()
	created, _ := first.create(pet{Name: "Rex", CategoryID: 1})
	if err := os.Symlink("animalstore.db", f.path("link.db")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"animalstore.db", f.path("animalstore.db"), "./link.db"} {
		r := f.run("serve", "--addr", takenAddr(t), "--database", name)
		expectRefusal(t, r, 1, "animalstore.db", "already in use by another animalstore")
	}
	if pets := first.walk(); !slices.Equal(pets, []pet{created}) {
		t.Errorf("the first service has %+v, want %+v", pets, created)
	}

	first.kill()
	if pets := f.serve("--database", "link.db").walk(); !slices.Equal(pets, []pet{created}) {
		t.Errorf("the next service has %+v, want %+v", pets, created)
	}
}

func TestPortInUseIsReported(t *testing.T) {
	t.Parallel()
	addr := takenAddr(t)
	expectRefusal(t, newFolderWithKey(t).run("serve", "--addr", addr), 1, addr, "in use")
}

// TestForeignFileIsRefusedAndUnchanged starts the service on files that are not stores and on a store from a
// newer version. The service must refuse these files and leave them unchanged.
func TestForeignFileIsRefusedAndUnchanged(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		make  func(f *folder)
		wants string
	}{
		"a text": {
			func(f *folder) { f.write("a.db", strings.Repeat("This is a letter to my aunt.\n", 100)) },
			"not a database",
		},
		"a short text": {
			func(f *folder) { f.write("a.db", "hello\n") },
			"not a database",
		},
		"another program's database": {
			func(f *folder) { f.execSQL("a.db", "CREATE TABLE songs (title TEXT)") },
			"another program",
		},
		"another program's database with pets": {
			func(f *folder) { f.execSQL("a.db", "CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT)") },
			"another program",
		},
		"another program's database without tables": {
			func(f *folder) { f.execSQL("a.db", "PRAGMA application_id = 12345") },
			"another program",
		},
		"a newer animalstore's database": {
			func(f *folder) {
				f.serve("--database", "a.db").stop()
				f.execSQL("a.db", "PRAGMA user_version = 1000000")
			},
			"newer animalstore",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolderWithKey(t)
			test.make(f)
			before, names := f.read("a.db"), f.names()
			expectRefusal(t, f.run("serve", "--addr", takenAddr(t), "--database", "a.db"), 1, "a.db", test.wants)
			expectRefusal(t, f.run("keys", "create", "--name", "n", "--database", "a.db"), 1, "a.db", test.wants)
			if after := f.read("a.db"); after != before {
				t.Errorf("the file was changed: it had %d bytes, now it has %d, and differs from byte %d on",
					len(before), len(after), firstDifference(before, after))
			}
			// The lock file is never removed. Otherwise, two services could lock two different files with the
			// same name.
			after := slices.DeleteFunc(f.names(), func(name string) bool { return name == "a.db.lock" })
			names = slices.DeleteFunc(names, func(name string) bool { return name == "a.db.lock" })
			if !slices.Equal(after, names) {
				t.Errorf("the folder has %q, want %q as before", after, names)
			}
		})
	}
}

func TestImpossibleDatabasePathIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ database, wants string }{
		"a folder that does not exist": {"missing/a.db", "no such file or directory"},
		"a folder":                     {"folder", "directory"},
		"a link to nowhere":            {"link.db", "link.db"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolderWithKey(t)
			if err := os.Mkdir(f.path("folder"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("nowhere/a.db", f.path("link.db")); err != nil {
				t.Fatal(err)
			}
			expectRefusal(t, f.run("serve", "--addr", takenAddr(t), "--database", test.database), 1, test.database, test.wants)
			if names := f.names(); !slices.Equal(names, []string{"folder", "link.db"}) {
				t.Errorf("the folder has %q, want it unchanged", names)
			}
		})
	}
}

// takenAddr returns an address that is already in use. Tests pass it to a service that must refuse to start
// for another reason. If the service starts nevertheless, it cannot listen and exits immediately instead of
// running forever.
func takenAddr(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// execSQL runs statements directly on a SQLite database in the folder, as another program would.
func (f *folder) execSQL(name, statements string) {
	f.t.Helper()
	db := openDatabase(f.t, f.path(name))
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		f.t.Fatal(err)
	}
}

// expectRefusal checks the exit code, that stdout is empty, and that stderr is a single line containing all
// of the given words.
func expectRefusal(t *testing.T, r result, code int, words ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	if r.stdout != "" {
		t.Errorf("stdout is %q, want nothing", r.stdout)
	}
	if strings.Count(r.stderr, "\n") != 1 || !strings.HasSuffix(r.stderr, "\n") {
		t.Errorf("want exactly one line on stderr, got:\n%s", r.stderr)
	}
	for _, word := range words {
		if !strings.Contains(r.stderr, word) {
			t.Errorf("stderr is %q, want %q in it", r.stderr, word)
		}
	}
}

func firstDifference(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
