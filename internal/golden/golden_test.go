// Package golden detects unintended changes to everything that users see of the program: the responses from
// the HTTP API, the help texts, the names of the metrics, and the schemas of both databases. It builds the
// real binary and uses it over HTTP and on the command line. Therefore, its tests fail only after changes that
// users would notice.
//
// The expected results are stored in the files in testdata. After an intended change, run the following
// command and review the differences:
//
//	go test ./internal/golden -update
package golden

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { programtest.Main(m) }

// engine is a kind of database. Its open function returns the --database value for a new, empty database.
type engine struct {
	name string
	open func(t *testing.T) string
}

var engines = []engine{
	{"sqlite", func(t *testing.T) string { return filepath.Join(t.TempDir(), "animalstore.db") }},
	{"postgres", func(t *testing.T) string { return pgtest.Shared(t).NewDatabase(t) }},
}

// check compares a result with a golden file. If write is set, it writes the golden file first.
func check(t *testing.T, name, got string, write bool) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if write {
		shoptest.OK(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := shoptest.Must(os.ReadFile(path))(t)
	if got == string(want) {
		return
	}
	const maxLines = 80
	diff := strings.Split(cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")), "\n")
	if len(diff) > maxLines {
		diff = append(diff[:maxLines], fmt.Sprintf("and %d more lines", len(diff)-maxLines))
	}
	t.Errorf("testdata/%s (-want +got):\n%s", name, strings.Join(diff, "\n"))
}

// checkFiles checks that a directory in testdata contains no files other than the wanted golden files. With
// -update, it removes all other files.
func checkFiles(t *testing.T, folder string, want []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("testdata/%s has no files: %v", folder, err)
	}
	for _, path := range paths {
		if slices.Contains(want, filepath.Base(path)) {
			continue
		}
		if !*update {
			t.Errorf("%s belongs to no test", path)
		} else if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

var commandLine = regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z-]+)*)(?: .*)?$`)

// TestHelp compares the --help output of the program and of every command with the golden files.
func TestHelp(t *testing.T) {
	t.Parallel()
	var files []string
	for todo := [][]string{{}}; len(todo) > 0; todo = todo[1:] {
		help := programtest.NewFolder(t).MustRun(append(slices.Clone(todo[0]), "--help")...)
		if help.Stderr != "" {
			t.Fatalf("%q --help: got %v, want nothing on stderr", todo[0], help)
		}
		name := strings.Join(append([]string{"animalstore"}, todo[0]...), "-") + ".txt"
		check(t, "help/"+name, help.Stdout, *update)
		files = append(files, name)
		_, commands, _ := strings.Cut(help.Stdout, "\nCommands:\n")
		commands, _, _ = strings.Cut(commands, "\n\n")
		for _, line := range commandLine.FindAllStringSubmatch(commands, -1) {
			todo = append(todo, strings.Fields(line[1]))
		}
	}
	if len(files) < 30 {
		t.Errorf("there are only %d commands: %q", len(files), files)
	}
	checkFiles(t, "help", files)
}
