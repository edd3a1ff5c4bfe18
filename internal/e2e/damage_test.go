package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"animalstore/internal/programtest"
)

// TestUnwritableDatabaseIsRefusedUnchanged runs the program on files that it has no permission to write. The
// program runs as the user nobody because root can write to any file.
func TestUnwritableDatabaseIsRefusedUnchanged(t *testing.T) {
	t.Parallel()
	const nobody = 65534
	asNobody := func(f *programtest.Folder, name string, mode os.FileMode, args ...string) programtest.Result {
		f.T.Helper()
		must := func(err error) {
			f.T.Helper()
			if err != nil {
				f.T.Fatal(err)
			}
		}
		command := exec.Command(programtest.Binary(t), args...)
		if os.Geteuid() == 0 {
			command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			must(os.Chmod(filepath.Dir(programtest.Binary(t)), 0o711))
			must(os.Chmod(filepath.Dir(f.Dir), 0o711))
			for _, path := range append([]string{"."}, f.Names()...) {
				must(os.Chown(f.Path(path), nobody, nobody))
			}
		}
		must(os.Chmod(f.Path(name), mode))
		f.T.Cleanup(func() { os.Chmod(f.Dir, 0o700) })
		var stdout, stderr programtest.Transcript
		command.Dir, command.Env, command.Stdout, command.Stderr = f.Dir, f.Environment(), &stdout, &stderr
		if err := command.Run(); command.ProcessState == nil {
			f.T.Fatal(err)
		}
		return programtest.Result{Code: command.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
	}
	for name, c := range map[string]struct {
		file string
		mode os.FileMode
		want string
	}{
		"the file":   {"animalstore.db", 0o400, "cannot be written"},
		"the folder": {".", 0o500, "permission denied"},
		"unreadable": {"animalstore.db", 0o000, "cannot be read or written by this user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := programtest.NewFolderWithKey(t)
			f.Serve("--demo").Stop()
			if err := os.Remove(f.Path("animalstore.db.lock")); err != nil {
				t.Fatal(err)
			}
			before := f.Read("animalstore.db")
			r := asNobody(f, c.file, c.mode, "serve", "--addr", programtest.TakenAddr(t))
			programtest.ExpectRefusal(t, r, 1, "animalstore.db", c.want)
			if err := os.Chmod(f.Path("animalstore.db"), 0o600); err != nil {
				t.Fatal(err)
			}
			if f.Read("animalstore.db") != before {
				t.Error("the database was changed")
			}
		})
	}
	t.Run("check still works", func(t *testing.T) {
		t.Parallel()
		f := programtest.NewFolderWithKey(t)
		f.Serve("--demo").Stop()
		r := asNobody(f, ".", 0o500, "check")
		if r.Code != 0 {
			t.Errorf("check in a read-only folder: got %v, want exit code 0", r)
		}
		if names := f.Names(); slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, "-wal") }) {
			t.Errorf("files: got %q, want no WAL", names)
		}
	})
}
