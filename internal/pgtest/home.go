package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// caretaker removes the home when nobody holds the other end of its stdin: neither the test process, however it ended,
// nor any of its servers.
const caretaker = `cat >/dev/null; rm -rf "$1"`

// home is the temporary folder of this process, in which all of its servers live.
type home struct {
	dir   string
	bin   string   // where initdb and postgres are
	uid   int      // who runs them; PostgreSQL refuses to be root
	gid   int      //
	alive *os.File // held by this process and its servers, for the caretaker
}

// openHome makes the home and a template of a data folder in it, once: copying that is faster than another initdb.
var openHome = sync.OnceValues(func() (*home, error) {
	bin, err := findPrograms("/usr/lib/postgresql/*/bin")
	if err != nil {
		return nil, err
	}
	h := &home{bin: bin, uid: os.Getuid(), gid: os.Getgid()}
	if h.uid == 0 {
		if h.uid, h.gid, err = anotherUser("postgres", "nobody"); err != nil {
			return nil, err
		}
	}
	if h.dir, err = os.MkdirTemp("", "animalstore-pgtest-"); err != nil {
		return nil, err
	}
	if err := errors.Join(os.Chown(h.dir, h.uid, h.gid), h.takeCare(), h.makeTemplate()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(h.dir))
	}
	return h, nil
})

func (h *home) takeCare() error {
	stdin, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	h.alive = alive
	cmd := h.command(context.Background(), "sh", "-c", caretaker, "sh", h.dir)
	cmd.Stdin = stdin
	return cmd.Start()
}

func (h *home) makeTemplate() error {
	template := h.template()
	err := h.run("", filepath.Join(h.bin, "initdb"), "-D", template, "--username=animalstore", "--auth=trust",
		"--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions")
	if err != nil {
		return err
	}
	// Nobody needs the database named postgres, and renaming it is cheaper than making another.
	return h.run("ALTER DATABASE postgres RENAME TO animalstore",
		filepath.Join(h.bin, "postgres"), "--single", "-F", "-D", template, "template1")
}

func (h *home) template() string { return filepath.Join(h.dir, "template") }

// newData makes a new data folder and returns its path.
func (h *home) newData() (string, error) {
	dir, err := os.MkdirTemp(h.dir, "server-")
	if err != nil {
		return "", err
	}
	if err := os.Chown(dir, h.uid, h.gid); err != nil {
		return "", err
	}
	return dir, h.run("", "cp", "-R", h.template()+"/.", dir)
}

// run runs a command of a few seconds at most.
func (h *home) run(stdin, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := h.command(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = patience
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, output)
	}
	return nil
}

// command is run as the home's user, in a process group of its own, so that Ctrl-C ends the tests alone; what they
// started then ends because they have. The caller's PG* variables are none of its business.
func (h *home) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = h.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.SysProcAttr = apart(h.uid, h.gid)
	return cmd
}

// findPrograms finds PostgreSQL's server programs in PATH, or the newest of those in Debian's folders, which are not in PATH.
func findPrograms(folders string) (string, error) {
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
		return "", fmt.Errorf("PostgreSQL is missing: there is no initdb in PATH or in %s; "+
			"`make test` installs it where it can, by scripts/need-postgres", folders)
	}
	version := func(initdb string) float64 {
		number, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(initdb))), 64)
		return number
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return cmp.Compare(version(a), version(b)) })
	return filepath.Dir(newest), nil
}

// anotherUser returns the ids of the first of these users that there is.
func anotherUser(names ...string) (uid, gid int, err error) {
	for _, name := range names {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		if uid, err = strconv.Atoi(account.Uid); err != nil {
			return 0, 0, err
		}
		gid, err = strconv.Atoi(account.Gid)
		return uid, gid, err
	}
	return 0, 0, fmt.Errorf("PostgreSQL cannot run as root, and there is none of the users %v", names)
}
