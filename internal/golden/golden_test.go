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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
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

// check compares a result with a golden file. With -update, it writes the golden file instead.
func check(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	compare(t, name, got)
}

// compare fails the test and shows the differences if a result is not equal to the golden file.
func compare(t *testing.T, name, got string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
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
	entries, err := os.ReadDir(filepath.Join("testdata", folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if slices.Contains(want, entry.Name()) {
			continue
		}
		path := filepath.Join("testdata", folder, entry.Name())
		if !*update {
			t.Errorf("%s belongs to no test", path)
		} else if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}
