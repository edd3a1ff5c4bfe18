package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// cleanerScript removes the workspace when the test process and all of its servers have exited, even if they
// were killed. All of these processes hold the write end of the script's stdin, so stdin ends when the last
// one exits.
const cleanerScript = `cat >/dev/null; rm -rf "$1"`

// workspace is the test process's temporary directory. It contains the data directories of all servers that
// the process starts.
type workspace struct {
	account
	dir   string
	bin   string   // the directory that contains initdb and postgres
	alive *os.File // the write end of the cleaner's stdin, held by this process and its servers
}

// openWorkspace creates the workspace once. The workspace contains a template for data directories, because
// copying the template is faster than running initdb again.
var openWorkspace = sync.OnceValues(func() (*workspace, error) {
	bin, err := findPrograms(debianPrograms)
	if err != nil {
		return nil, err
	}
	w := &workspace{bin: bin}
	if w.account, err = findAccount(); err != nil {
		return nil, err
	}
	if w.dir, err = w.tempDir("animalstore-pgtest-"); err != nil {
		return nil, err
	}
	if err := errors.Join(w.startCleaner(), w.initCluster(w.template())); err != nil {
		return nil, errors.Join(err, os.RemoveAll(w.dir))
	}
	return w, nil
})

func (w *workspace) startCleaner() error {
	stdin, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	w.alive = alive
	cmd := w.command(context.Background(), "sh", "-c", cleanerScript, "sh", w.dir)
	cmd.Stdin = stdin
	return cmd.Start()
}

// initCluster creates a cluster with the database animalstore in a new or empty data directory.
func (w *workspace) initCluster(data string) error {
	err := w.runCommand("", filepath.Join(w.bin, "initdb"), "-D", data, "--username=animalstore", "--auth=trust",
		"--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
	if err != nil {
		return err
	}
	// No test needs the default database postgres, and renaming it is faster than creating another database.
	return w.runCommand("ALTER DATABASE postgres RENAME TO animalstore",
		filepath.Join(w.bin, "postgres"), "--single", "-F", "-D", data, "template1")
}

func (w *workspace) template() string { return filepath.Join(w.dir, "template") }

// newDataDir copies the template into a new data directory and returns its path.
func (w *workspace) newDataDir() (string, error) {
	dir, err := os.MkdirTemp(w.dir, "server-")
	if err != nil {
		return "", err
	}
	if err := os.Chown(dir, w.uid, w.gid); err != nil {
		return "", err
	}
	return dir, w.runCommand("", "cp", "-R", w.template()+"/.", dir)
}

// runCommand runs a command to completion with the given text as its stdin.
func (w *workspace) runCommand(stdin, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), stuckTimeout)
	defer cancel()
	cmd := w.command(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = stuckTimeout
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, output)
	}
	return nil
}

// command returns a command that runs in the workspace as the user who owns the workspace.
func (w *workspace) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return w.account.command(ctx, w.dir, name, args...)
}

// debianPrograms matches the directories in which Debian installs the server programs of PostgreSQL.
const debianPrograms = "/usr/lib/postgresql/*/bin"

// programsVariable is the environment variable that sets the directory of PostgreSQL's server programs.
const programsVariable = "ANIMALSTORE_TEST_POSTGRES"

// findPrograms returns the directory that contains PostgreSQL's server programs. If programsVariable is set, its value
// is the directory. If it is not set and initdb is in PATH, findPrograms returns the directory of initdb. Debian does
// not put the server programs in PATH. Therefore, findPrograms finally looks for the newest version among the
// directories that match the pattern folders.
func findPrograms(folders string) (string, error) {
	if bin := os.Getenv(programsVariable); bin != "" {
		return bin, nil
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if initdb, err = filepath.EvalSymlinks(initdb); err == nil {
			return filepath.Dir(initdb), nil
		}
	}
	found, err := filepath.Glob(filepath.Join(folders, "initdb"))
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("PostgreSQL is missing: no initdb in PATH or in %s; "+
			"`make test` installs it where it can, with scripts/need-postgres", folders)
	}
	version := func(initdb string) float64 {
		number, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(initdb))), 64)
		return number
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return cmp.Compare(version(a), version(b)) })
	return filepath.Dir(newest), nil
}
