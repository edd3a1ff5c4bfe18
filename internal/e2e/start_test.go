package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/programtest"
)

// TestFirstStartCreatesPrivateFiles starts the service in an empty folder. The new store must contain no
// animals, and only the owner may have access to its files.
func TestFirstStartCreatesPrivateFiles(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve()
	if pets := p.Walk(); len(pets) != 0 {
		t.Errorf("a new store has the animals %+v, want none", pets)
	}
	p.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	for _, name := range f.Names() { // the names include the files that SQLite creates next to the database
		info, err := os.Stat(f.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s has the mode %v, want -rw-------", name, info.Mode())
		}
	}
	if !slices.Contains(f.Names(), "animalstore.db") {
		t.Errorf("the folder has %q, want animalstore.db, too", f.Names())
	}
}

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

func TestPortInUseIsReported(t *testing.T) {
	t.Parallel()
	addr := programtest.TakenAddr(t)
	programtest.ExpectRefusal(t, programtest.NewFolderWithKey(t).Run("serve", "--addr", addr), 1, addr, "in use")
}

// TestForeignFileIsRefusedAndUnchanged starts the service on files that are not stores and on a store from a
// newer version. The service must refuse these files and leave them unchanged.
func TestForeignFileIsRefusedAndUnchanged(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		make  func(f *programtest.Folder)
		wants string
	}{
		"a text": {
			func(f *programtest.Folder) { f.Write("a.db", strings.Repeat("This is a letter to my aunt.\n", 100)) },
			"not a database",
		},
		"a short text": {
			func(f *programtest.Folder) { f.Write("a.db", "hello\n") },
			"not a database",
		},
		"another program's database": {
			func(f *programtest.Folder) { execSQL(f, "a.db", "CREATE TABLE songs (title TEXT)") },
			"another program",
		},
		"another program's database with pets": {
			func(f *programtest.Folder) {
				execSQL(f, "a.db", "CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT)")
			},
			"another program",
		},
		"another program's database without tables": {
			func(f *programtest.Folder) { execSQL(f, "a.db", "PRAGMA application_id = 12345") },
			"another program",
		},
		"a newer animalstore's database": {
			func(f *programtest.Folder) {
				f.Serve("--database", "a.db").Stop()
				execSQL(f, "a.db", "PRAGMA user_version = 1000000")
			},
			"newer animalstore",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := programtest.NewFolderWithKey(t)
			test.make(f)
			before, names := f.Read("a.db"), f.Names()
			programtest.ExpectRefusal(t, f.Run("serve", "--addr", programtest.TakenAddr(t), "--database", "a.db"), 1, "a.db", test.wants)
			programtest.ExpectRefusal(t, f.Run("keys", "create", "--name", "n", "--database", "a.db"), 1, "a.db", test.wants)
			if after := f.Read("a.db"); after != before {
				t.Errorf("the file was changed: it had %d bytes, now it has %d, and differs from byte %d on",
					len(before), len(after), firstDifference(before, after))
			}
			// The lock file is never removed. Otherwise, two services could lock two different files with the
			// same name.
			after := slices.DeleteFunc(f.Names(), func(name string) bool { return name == "a.db.lock" })
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
			f := programtest.NewFolderWithKey(t)
			if err := os.Mkdir(f.Path("folder"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("nowhere/a.db", f.Path("link.db")); err != nil {
				t.Fatal(err)
			}
			programtest.ExpectRefusal(t, f.Run("serve", "--addr", programtest.TakenAddr(t), "--database", test.database), 1, test.database, test.wants)
			if names := f.Names(); !slices.Equal(names, []string{"folder", "link.db"}) {
				t.Errorf("the folder has %q, want it unchanged", names)
			}
		})
	}
}

// execSQL runs statements directly on a SQLite database in the folder, as another program would.
func execSQL(f *programtest.Folder, name, statements string) {
	f.T.Helper()
	db := openDatabase(f.T, f.Path(name))
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		f.T.Fatal(err)
	}
}

func firstDifference(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
