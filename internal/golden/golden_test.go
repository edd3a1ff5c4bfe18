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
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/pgtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// waitLimit is the maximum time for any wait. It prevents a broken program from blocking the tests forever.
const waitLimit = 2 * time.Minute

func TestMain(m *testing.M) {
	code := m.Run()
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

var buildDir string // the directory that contains the binary

// binary builds the program on the first call and returns the path of the binary.
func binary(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var build = sync.OnceValues(func() (path string, err error) {
	// The go command records which directories a test reads. By reading all directories, the test prevents
	// the go command from reusing a cached result after the program has changed.
	err = filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if buildDir, err = os.MkdirTemp("", "animalstore-golden-"); err != nil {
		return "", err
	}
	path = filepath.Join(buildDir, "animalstore")
	args := []string{"build", "-o", path}
	info, ok := debug.ReadBuildInfo()
	if ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race")
	}
	command := exec.Command("go", append(args, "./cmd/animalstore")...)
	command.Dir = "../.."
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the program: %w\n%s", err, output)
	}
	return path, nil
})

// engine is a kind of database. Its open function returns the --database value for a new, empty database.
type engine struct {
	name string
	open func(t *testing.T) string
}

var engines = []engine{
	{"sqlite", func(t *testing.T) string { return filepath.Join(t.TempDir(), "animalstore.db") }},
	{"postgres", func(t *testing.T) string { return pgtest.Shared(t).NewDatabase(t) }},
}

// environment returns the environment variables for the program. They include the given settings but neither
// COLUMNS nor the developer's own ANIMALSTORE_ variables.
func environment(settings ...string) []string {
	environment := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "ANIMALSTORE_") || strings.HasPrefix(variable, "COLUMNS=")
	})
	return append(append(environment, "GORACE=atexit_sleep_ms=0"), settings...)
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

// waitFor polls until the condition is true. It fails the test after waitLimit.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitLimit); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s", waitLimit, what)
		}
	}
}
