package e2e

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"animalstore/internal/programtest"
)

// TestSecondServiceOnDatabaseIsRefused starts a second service on a database that is in use. It gives the
// database as a relative path, as an absolute path and as a symlink.
func TestSecondServiceOnDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	first := f.Serve()
	created, _ := first.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	if err := os.Symlink("animalstore.db", f.Path("link.db")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"animalstore.db", f.Path("animalstore.db"), "./link.db"} {
		r := f.Run("serve", "--addr", programtest.TakenAddr(t), "--database", name)
		programtest.ExpectRefusal(t, r, 1, "animalstore.db", "already in use by another animalstore")
	}
	if pets := first.Walk(); !slices.Equal(pets, []programtest.Pet{created}) {
		t.Errorf("the first service has %+v, want %+v", pets, created)
	}

	first.Kill()
	if pets := f.Serve("--database", "link.db").Walk(); !slices.Equal(pets, []programtest.Pet{created}) {
		t.Errorf("the next service has %+v, want %+v", pets, created)
	}
}

// TestConcurrentFirstStartsShareOneDatabase starts a service and many commands in the same empty folder at
// the same time.
func TestConcurrentFirstStartsShareOneDatabase(t *testing.T) {
	t.Parallel()
	const commands = 8
	f := programtest.NewFolder(t)
	p := f.Start()
	keys := make(chan string, commands)
	for range commands {
		go func() { keys <- f.Run("keys", "create", "--name", "n").Stdout }()
	}
	p.AwaitReady()
	seen := map[string]bool{}
	for range commands {
		key := <-keys
		if !programtest.IssuedKey.MatchString(key) || seen[key] {
			t.Errorf("keys create printed %q, want a new key", key)
		}
		seen[key] = true
		programtest.ExpectStatus(t, p.Send("GET", "/v1/pets", strings.TrimSpace(key), ""), 200)
	}
	p.Stop()
	checkIntegrity(t, f.Path("animalstore.db"))
}

// TestFilesAreReadableByOwnerOnly creates databases under umask 000, so that only the program itself
// restricts the file permissions.
func TestFilesAreReadableByOwnerOnly(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolder(t)
	r := f.Shell("umask 000 && animalstore keys create --name me && animalstore copy --to copy.db && { animalstore serve --addr " +
		"127.0.0.1:0 2>log & until grep -q listening log; do sleep 0.05; done; kill -9 $!; }; umask 077; rm log")
	if r.Code != 0 {
		t.Fatalf("got %v, want exit code 0", r)
	}
	names := f.Names()
	const want = "animalstore.db animalstore.db-shm animalstore.db-wal animalstore.db.lock copy.db copy.db.lock"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("files: got %s, want %s", got, want)
	}
	for _, name := range names {
		info, err := os.Stat(f.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("mode of %s: got %v, want -rw-------", name, info.Mode())
		}
	}
}

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
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			f := programtest.NewFolderWithKey(t, "ANIMALSTORE_ADDR="+programtest.TakenAddr(t))
			f.Serve("--demo").Stop()
			must(os.Remove(f.Path("animalstore.db.lock")))
			before := f.Read("animalstore.db")
			command := exec.Command(programtest.Binary(t), c.command)
			if os.Geteuid() == 0 {
				command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
				must(os.Chmod(filepath.Dir(programtest.Binary(t)), 0o711))
				must(os.Chmod(filepath.Dir(f.Dir), 0o711))
				for _, path := range append([]string{"."}, f.Names()...) {
					must(os.Chown(f.Path(path), nobody, nobody))
				}
			}
			must(os.Chmod(f.Path(c.file), c.mode))
			t.Cleanup(func() { os.Chmod(f.Dir, 0o700) })
			p := f.Launch(command)
			r := programtest.Result{Code: p.ExitCode(), Stderr: p.Output.String()}
			if c.want != "" {
				programtest.ExpectRefusal(t, r, 1, "animalstore.db", c.want)
			} else if r.Code != 0 || strings.Contains(strings.Join(f.Names(), " "), "-wal") {
				t.Errorf("got %v and the files %q, want exit code 0 and no WAL", r, f.Names())
			}
			must(os.Chmod(f.Path("animalstore.db"), 0o600))
			if f.Read("animalstore.db") != before {
				t.Error("the database was changed")
			}
		})
	}
}

// TestStaffPagesAndAPIShareOnePort uses the staff pages and the API on the same service. Neither may serve
// paths that belong to the other, and an open live page must not delay a stop.
func TestStaffPagesAndAPIShareOnePort(t *testing.T) {
	t.Parallel()
	p := programtest.NewFolderWithKey(t).Serve("--demo")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: p.Client.Transport, Timeout: programtest.WaitTimeout}
	home, err := browser.PostForm(p.URL+"/staff/sign-in", url.Values{"key": {programtest.AdminKey}})
	if err != nil || home.StatusCode != 200 || home.Request.URL.Path != "/" {
		t.Fatalf("signing in: got %+v, %v, want 200 at /", home, err)
	}
	home.Body.Close()
	live, err := browser.Get(p.URL + "/staff/live")
	if err != nil || live.StatusCode != 200 {
		t.Fatalf("/staff/live: got %v, %v, want 200", live, err)
	}
	defer live.Body.Close()
	if got := p.Send("GET", "/", "", ""); got.Status != 200 || !strings.Contains(got.Body, "Sign in with your key") {
		t.Errorf("/: got %v, want 200 with the sign-in page", got)
	}
	for _, path := range []string{"/pets", "/staffpets", "/favicon.ico"} {
		if got := p.Send("GET", path, "", ""); got.Status != 404 || !strings.Contains(got.Body, `"code":"not_found"`) {
			t.Errorf("%s: got %v, want 404 not_found", path, got)
		}
	}
	if got := p.Get("/metrics").Body; !strings.Contains(got, `animalstore_staff_request_duration_seconds_count{page="sign-in"`) {
		t.Error("/metrics lacks the duration of staff requests")
	}
	p.Stop() // the open live page must not delay the stop
	if strings.Contains(p.Output.String(), programtest.AdminKey) {
		t.Error("the log contains the key")
	}
}

// TestMemoryLimitIsSet reads Go's soft memory limit from the metrics of the running service.
func TestMemoryLimitIsSet(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]float64{"": 216 << 20, "1GiB": 1 << 30} {
		p := programtest.NewFolderWithKey(t, "GOMEMLIMIT="+value).Serve()
		if got := p.Metric("go_gc_gomemlimit_bytes"); got != want {
			t.Errorf("GOMEMLIMIT=%s: got a limit of %.0f bytes, want %.0f", value, got, want)
		}
	}
}
