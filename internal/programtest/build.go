// Package programtest runs the real program for tests. It builds the binary once per test process, starts it
// in an empty folder, and lets tests use it through HTTP, signals and the command line.
//
// The binary is built without the race detector, which would make it several times slower. If the environment
// variable ANIMALSTORE_TEST_RACE is 1, the binary is built with the race detector.
package programtest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// WaitTimeout is the limit for every wait. It is generous because it only prevents a broken program from
// blocking the tests forever.
const WaitTimeout = 5 * time.Minute

// AdminKey is the configured API key in folders created by NewFolderWithKey.
const AdminKey = "the-operators-own-key"

// Main runs the tests and then removes the binary. Every package that uses the program calls it from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

var buildDir string // buildDir is the directory that contains the binary.

// Binary is like Build but fails the test if the program cannot be built.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := Build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Build builds the program on the first call and returns the path of the binary.
var Build = sync.OnceValues(func() (path string, err error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	// The go command records which directories a test reads. By reading all directories, the test prevents
	// the go command from reusing a cached result after the program has changed.
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if buildDir, err = os.MkdirTemp("", "animalstore-test-"); err != nil {
		return "", err
	}
	path = filepath.Join(buildDir, "animalstore")
	args := []string{"build", "-o", path}
	if os.Getenv("ANIMALSTORE_TEST_RACE") == "1" {
		args = append(args, "-race")
	}
	command := exec.Command("go", append(args, "./cmd/animalstore")...)
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the program: %w\n%s", err, output)
	}
	return path, nil
})

// moduleRoot returns the closest parent of the working directory that contains go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no parent of the working directory contains go.mod")
		}
		dir = parent
	}
}

// Await polls until the condition is true. It fails the test after WaitTimeout.
func Await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(WaitTimeout); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out after %s waiting for %s", WaitTimeout, what)
		}
	}
}
