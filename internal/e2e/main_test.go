// Package e2e tests the real program as its users run it. It builds the binary, starts it in an empty folder
// and uses it only through HTTP, signals and the command line.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	_ "animalstore/internal/cli" // makes go test rerun the tests after a change to the program
)

// binary is the path of the program under test, which is built once for all tests.
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

// raceEnabled reports whether the tests were built with -race. If so, the program is also built with -race.
func raceEnabled() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
