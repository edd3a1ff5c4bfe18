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

// Release is an earlier version of the program and the commit that it was built from.
type Release struct{ Version, commit string }

// The releases from which users upgrade. Add the new one after a release.
var (
	Version10 = Release{"1.0", "ba7bbafb25786ce714fb4744a1d7f5341e5a9d15"}
	Version11 = Release{"1.1", "67306bc72b624fa7b79a5a8f0147d65c8242f047"}
)

// Build builds the program of the release and returns the path of the binary.
func (r Release) Build(t testing.TB) string {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "animalstore-"+r.Version)
	if err := r.build(t.Context(), root, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// build builds the program of the release from the history of the git repository at root, with the same flags as
// `make build`. It fails if the repository lacks that commit, as a shallow clone does.
func (r Release) build(ctx context.Context, root, path string) (err error) {
	if err := runIn(ctx, root, "git", "cat-file", "-e", r.commit+"^{commit}"); err != nil {
		return fmt.Errorf("cannot build version %s: commit %s is missing from %s; in a shallow clone, run git fetch --unshallow: %w",
			r.Version, r.commit, root, err)
	}
	source, err := os.MkdirTemp("", "animalstore-"+r.Version+"-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(source)) }()
	for _, command := range [][]string{
		{"git", "-C", root, "archive", "--output", filepath.Join(source, "source.tar"), r.commit},
		{"tar", "-xf", "source.tar"},
		{"env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-o", path, "./cmd/animalstore"},
	} {
		if err := runIn(ctx, source, command...); err != nil {
			return fmt.Errorf("cannot build version %s: %w", r.Version, err)
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
