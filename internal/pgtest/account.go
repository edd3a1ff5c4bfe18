package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
)

// account is the user that runs PostgreSQL's programs. It is not root, because PostgreSQL refuses to run as root.
type account struct{ uid, gid int }

// findAccount returns the current user or, if that is root, an unprivileged user.
func findAccount() (account, error) {
	if uid := os.Getuid(); uid != 0 {
		return account{uid, os.Getgid()}, nil
	}
	return unprivilegedUser("postgres", "nobody")
}

// unprivilegedUser returns the first user in names that exists.
func unprivilegedUser(names ...string) (account, error) {
	for _, name := range names {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(found.Uid)
		gid, gidErr := strconv.Atoi(found.Gid)
		return account{uid, gid}, errors.Join(uidErr, gidErr)
	}
	return account{}, fmt.Errorf("PostgreSQL cannot run as root, and none of the users %v exists", names)
}

// tempDir creates a temporary directory that belongs to the account.
func (a account) tempDir(pattern string) (string, error) {
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		return "", err
	}
	return dir, os.Chown(dir, a.uid, a.gid)
}

// command returns a command that runs as the account, without the caller's PG* environment variables. The
// command has its own process group, so Ctrl-C interrupts only the tests.
func (a account) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.SysProcAttr = procAttr(a.uid, a.gid)
	return cmd
}

// Sandbox is a temporary directory for tests that start PostgreSQL or related programs in their own way. It belongs
// to a user that PostgreSQL accepts. The caller must remove it.
type Sandbox struct {
	Dir      string
	Programs string // the directory that contains PostgreSQL's programs
	account  account
}

// NewSandbox creates a sandbox. The name of its directory begins with prefix.
func NewSandbox(prefix string) (*Sandbox, error) {
	programs, err := findPrograms(debianPrograms)
	if err != nil {
		return nil, err
	}
	a, err := findAccount()
	if err != nil {
		return nil, err
	}
	dir, err := a.tempDir(prefix)
	return &Sandbox{dir, programs, a}, err
}

// Command returns a command that runs in dir as the owner of the sandbox, in a process group of its own.
func (s *Sandbox) Command(dir, name string, args ...string) *exec.Cmd {
	return s.account.command(context.Background(), dir, name, args...)
}
