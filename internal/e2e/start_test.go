package e2e

import (
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
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
	for name, c := range map[string]struct {
		command, file string
		mode          os.FileMode
		want          string // empty if the command succeeds
	}{
		"the file":          {"serve", "animalstore.db", 0o400, "cannot be written"},
		"the folder":        {"serve", ".", 0o500, "permission denied"},
		"unreadable":        {"serve", "animalstore.db", 0o000, "cannot be read or written by this user"},
		"check still works": {"check", ".", 0o500, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := programtest.NewFolderWithKey(t, "ANIMALSTORE_ADDR="+programtest.TakenAddr(t))
			f.Serve("--demo").Stop()
			must(t, os.Remove(f.Path("animalstore.db.lock")))
			before := f.Read("animalstore.db")
			command := exec.Command(programtest.Binary(t), c.command)
			if os.Geteuid() == 0 {
				command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
				must(t, os.Chmod(filepath.Dir(programtest.Binary(t)), 0o711))
				must(t, os.Chmod(filepath.Dir(f.Dir), 0o711))
				for _, path := range append([]string{"."}, f.Names()...) {
					must(t, os.Chown(f.Path(path), nobody, nobody))
				}
			}
			must(t, os.Chmod(f.Path(c.file), c.mode))
			t.Cleanup(func() { os.Chmod(f.Dir, 0o700) })
			p := f.Launch(command)
			r := programtest.Result{Code: p.ExitCode(), Stderr: p.Output.String()}
			if c.want != "" {
				programtest.ExpectRefusal(t, r, 1, "animalstore.db", c.want)
			} else if r.Code != 0 || strings.Contains(strings.Join(f.Names(), " "), "-wal") {
				t.Errorf("got %v and the files %q, want exit code 0 and no WAL", r, f.Names())
			}
			must(t, os.Chmod(f.Path("animalstore.db"), 0o600))
			if f.Read("animalstore.db") != before {
				t.Error("the database was changed")
			}
		})
	}
}

// TestStaffPagesAndAPIShareOnePort uses the staff pages and the API on the same service. Neither may serve paths that
// belong to the other, and an open live page must not delay the shutdown.
func TestStaffPagesAndAPIShareOnePort(t *testing.T) {
	t.Parallel()
	p := programtest.NewFolderWithKey(t).Serve("--demo")
	if got := p.Send("GET", "/", "", ""); got.Status != 200 || !strings.Contains(got.Body, "<title>Sign in ") {
		t.Errorf("/: got %v, want 200 with the sign-in page", got)
	}
	p.Client.Jar, _ = cookiejar.New(nil) // New never fails
	home, err := p.Client.PostForm(p.URL+"/staff/sign-in", url.Values{"key": {programtest.AdminKey}})
	if err != nil || home.StatusCode != 200 || home.Request.URL.Path != "/" {
		t.Fatalf("signing in: got %+v, %v, want 200 at /", home, err)
	}
	home.Body.Close()
	live, err := p.Client.Get(p.URL + "/staff/live")
	if err != nil || live.StatusCode != 200 {
		t.Fatalf("/staff/live: got %v, %v, want 200", live, err)
	}
	defer live.Body.Close()
	for _, path := range []string{"/pets", "/staffpets", "/favicon.ico"} {
		if got := p.Send("GET", path, "", ""); got.Status != 404 || !strings.Contains(got.Body, `"code":"not_found"`) {
			t.Errorf("%s: got %v, want 404 not_found", path, got)
		}
	}
	if got := p.Get("/metrics").Body; !strings.Contains(got, `animalstore_staff_request_duration_seconds_count{page="sign-in"`) {
		t.Error("/metrics lacks the duration of staff requests")
	}
	p.Stop() // the open live page must not delay the shutdown
	if strings.Contains(p.Output.String(), programtest.AdminKey) {
		t.Error("the log contains the key")
	}
}

// TestMemoryLimitIsSet checks that the service sets Go's soft memory limit, unless GOMEMLIMIT sets it. The test reads
// the limit from the metrics.
func TestMemoryLimitIsSet(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]float64{"": 258 << 20, "1GiB": 1 << 30} {
		p := programtest.NewFolderWithKey(t, "GOMEMLIMIT="+value).Serve()
		if got := p.Metric("go_gc_gomemlimit_bytes"); got != want {
			t.Errorf("GOMEMLIMIT=%s: got a limit of %.0f bytes, want %.0f", value, got, want)
		}
	}
}

// TestStartIsLight checks by the bytes that the service has allocated that it renders the API reference only when somebody
// asks for it.
func TestStartIsLight(t *testing.T) {
	t.Parallel()
	p := programtest.NewFolderWithKey(t).Serve()
	started := p.Metric("go_memstats_alloc_bytes_total")
	programtest.ExpectStatus(t, p.Send("GET", "/docs", "", ""), 200)
	const most, least = 30 << 20, 10 << 20
	if rendered := p.Metric("go_memstats_alloc_bytes_total") - started; started > most || rendered < least {
		t.Errorf("allocated bytes: got %.0f at the start and %.0f for the reference, want at most %d and at least %d", started, rendered, most, least)
	}
}
