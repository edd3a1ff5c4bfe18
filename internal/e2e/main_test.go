// Package e2e drives the real program as its users do: it builds the binary, starts it in an empty folder, and speaks to
// it over HTTP, signals and the command line. Nothing of the program's inside is touched.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	_ "animalstore/internal/cli" // so that a result is not taken from the cache when the program has changed
)

// binary is the program under test, built once for all tests.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "animalstore-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "animalstore")
	args := []string{"build", "-o", binary}
	if raceEnabled() {
		args = append(args, "-race")
	}
	if output, err := exec.Command("go", append(args, "animalstore/cmd/animalstore")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build the program: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}

// raceEnabled tells whether these tests were built with -race; the program then is, too.
func raceEnabled() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
