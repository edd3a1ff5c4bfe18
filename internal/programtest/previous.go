package programtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The previous release, from which users upgrade, and the commit that it was built from. Update both after a
// release.
const (
	PreviousVersion = "1.0"
	previousCommit  = "ba7bbafb25786ce714fb4744a1d7f5341e5a9d15"
)

// Previous builds the program of the previous release and returns the path of the binary.
func Previous(t testing.TB) string {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "animalstore-"+PreviousVersion)
	if err := BuildPrevious(t.Context(), root, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// BuildPrevious builds the program of the previous release from the history of the git repository at root, with
// the same flags as `make build`. It fails if the repository lacks that commit, as a shallow clone does.
func BuildPrevious(ctx context.Context, root, path string) (err error) {
	if err := runIn(ctx, root, "git", "cat-file", "-e", previousCommit+"^{commit}"); err != nil {
		return fmt.Errorf("cannot build version %s: commit %s is missing from %s; in a shallow clone, run git fetch --unshallow: %w",
			PreviousVersion, previousCommit, root, err)
	}
	source, err := os.MkdirTemp("", "animalstore-"+PreviousVersion+"-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(source)) }()
	for _, command := range [][]string{
		{"git", "-C", root, "archive", "--output", filepath.Join(source, "source.tar"), previousCommit},
		{"tar", "-xf", "source.tar"},
		{"env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-o", path, "./cmd/animalstore"},
	} {
		if err := runIn(ctx, source, command...); err != nil {
			return fmt.Errorf("cannot build version %s: %w", PreviousVersion, err)
		}
	}
	return nil
}

// runIn runs a command in a directory. If the command fails, the error contains its output.
func runIn(ctx context.Context, dir string, command ...string) error {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir = dir
	if output, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c, err, output)
	}
	return nil
}
