package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"animalstore/internal/programtest"
)

// randomBytes returns n random bytes, which simulate data from a broken disk.
func randomBytes(n int) string {
	bytes := make([]byte, n)
	for i := range bytes {
		bytes[i] = byte(rand.IntN(256))
	}
	return string(bytes)
}

// TestDamagedDatabaseIsRefusedUnchanged checks that every command names the damaged file in its error
// message. The file must stay unchanged so that it can still be repaired.
func TestDamagedDatabaseIsRefusedUnchanged(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]struct {
		apply func(content string) string
		want  string
	}{
		"the header":          {func(content string) string { return randomBytes(100) + content[100:] }, "not a database"},
		"the schema":          {func(content string) string { return content[:100] + randomBytes(3996) + content[4096:] }, "damaged"},
		"the page size":       {func(content string) string { return content[:16] + "\x00\x03" + content[18:] }, "not a database"},
		"all but the header":  {func(content string) string { return content[:100] + randomBytes(len(content)-100) }, "damaged"},
		"second half missing": {func(content string) string { return content[:len(content)/8192*4096] }, "damaged"},
		"last page missing":   {func(content string) string { return content[:len(content)-4096] }, "damaged"},
		"truncated page":      {func(content string) string { return content[:5000] }, "damaged"},
		"truncated header":    {func(content string) string { return content[:50] }, "damaged"},
		"everything":          {func(content string) string { return randomBytes(len(content)) }, "not a database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := programtest.NewFolderWithKey(t)
			f.Serve("--demo").Stop()
			broken := damage.apply(f.Read("animalstore.db"))
			f.Write("animalstore.db", broken)
			programtest.ExpectRefusal(t, f.Run("serve", "--addr", programtest.TakenAddr(t)), 1, "animalstore.db", damage.want)
			programtest.ExpectRefusal(t, f.Run("keys", "create", "--name", "n"), 1, "animalstore.db", damage.want)
			programtest.ExpectRefusal(t, f.Run("backup", "b.db"), 1, "animalstore.db", damage.want)
			if r := f.Run("check"); r.Code != 1 {
				t.Errorf("check of a damaged database: got %v, want exit code 1", r)
			}
			if after := f.Read("animalstore.db"); after != broken {
				t.Errorf("the database was changed, first at offset %d", firstDifference(broken, after))
			}
		})
	}
}

// TestDamagedTableFailsOnlyItsOwnRequests overwrites the root page of the pets table. Requests for animals
// must then get a 503 whose cause is logged, and all other requests must still succeed.
func TestDamagedTableFailsOnlyItsOwnRequests(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve("--demo")
	animals := len(p.Walk())
	f.MustRun("backup", "backup.db")
	p.Stop()
	db := openDatabase(t, f.Path("animalstore.db"))
	var page int
	if err := db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = 'pets'").Scan(&page); err != nil {
		t.Fatal(err)
	}
	db.Close()
	content := f.Read("animalstore.db")
	f.Write("animalstore.db", content[:(page-1)*4096]+randomBytes(4096)+content[page*4096:])
	p = f.Serve()
	p.DatabaseMayFail = true
	for range 3 {
		programtest.ExpectError(t, p.Send("GET", "/v1/pets", programtest.AdminKey, ""), 503, "unavailable")
		programtest.ExpectError(t, p.Send("POST", "/v1/pets", programtest.AdminKey, `{"name":"Rex","categoryId":1}`), 503, "unavailable")
		programtest.ExpectStatus(t, p.Send("GET", "/v1/categories", programtest.AdminKey, ""), 200)
		programtest.ExpectStatus(t, p.Send("GET", "/livez", "", ""), 200)
	}
	p.AwaitOutput("the reason for the failures", func(output string) bool { return strings.Contains(output, "database disk image is malformed") })
	if r := f.Run("check"); r.Code != 1 || !strings.Contains(r.Stdout, "integrity: ") {
		t.Errorf("check of a damaged database: got %v, want exit code 1 and an integrity finding", r)
	}
	programtest.ExpectRefusal(t, f.Run("backup", "b.db"), 1, "damaged")
	p.Stop()
	f.MustRun("restore", "--force", "backup.db")
	if got := len(f.Serve().Walk()); got != animals {
		t.Errorf("animals after the restore: got %d, want %d", got, animals)
	}
}

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

// TestServiceWorksAfterClockIsSetBack simulates a clock that was a day ahead and has been corrected. Instead
// of changing the clock, it moves every stored time one day into the future.
func TestServiceWorksAfterClockIsSetBack(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve("--webhook-allow-private", "--order-hold", "24h")
	hook := newReceiver(t)
	hook.subscribe(p)
	key := f.CreateKey("--name", "partner", "--scope", "pets:read", "--scope", "pets:write")
	for range 3 {
		p.Create(programtest.Pet{Name: "Rex", Status: "available"})
	}
	once := func(p *programtest.Program) programtest.Response {
		a := p.Send("POST", "/v1/pets", key, programtest.Pet{Name: "once"}.JSON(), "Idempotency-Key: once")
		programtest.ExpectStatus(t, a, 201)
		return a
	}
	first := once(p)
	for id := 1; id <= 2; id++ {
		programtest.ExpectStatus(t, p.Send("POST", "/v1/store/orders", programtest.AdminKey, fmt.Sprintf(`{"petId":%d}`, id)), 201)
	}
	page := p.Get("/v1/pets?limit=2")
	hook.awaitDeliveries(p)
	p.Stop()

	const day = "86400000000"
	var moves []string
	for table, columns := range map[string][]string{
		"orders": {"created_at", "updated_at", "hold_expires_at"}, "keys": {"created_at", "expires_at", "last_used_at"}, "key_secrets": {"ends_at"},
		"kept_answers": {"kept_at"}, "events": {"at"}, "webhooks": {"created_at", "updated_at", "failing_since"}, "webhook_secrets": {"created_at", "ends_at"},
		"deliveries": {"created_at", "next_at", "claimed_until"},
	} {
		for i, column := range columns {
			columns[i] = column + " = " + column + " + " + day
		}
		moves = append(moves, "UPDATE "+table+" SET "+strings.Join(columns, ", "))
	}
	execSQL(f, "animalstore.db", strings.Join(moves, "; "))

	p = f.Serve("--webhook-allow-private", "--order-hold", "1s", "--event-retention", "1h")
	if again := once(p); again.Body != first.Body || again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("repeated request: got %v, want the replay of %v", again, first)
	}
	if next := programtest.NextPage.FindStringSubmatch(page.Header.Get("Link")); next == nil {
		t.Error("no next link before the clock was set back")
	} else if a := p.Get(strings.Replace(next[1], next[1][:strings.Index(next[1], "/v1")], "", 1)); len(programtest.Decode[[]programtest.Pet](t, a.Body)) != 2 {
		t.Errorf("page of an earlier cursor: got %v, want 2 animals", a)
	}
	// Existing holds must not expire early, new holds must expire on time, and every order must accept
	// changes.
	programtest.ExpectError(t, p.Send("POST", "/v1/store/orders", programtest.AdminKey, `{"petId":1}`), 409, "pet_not_available")
	const patch = "Content-Type: application/merge-patch+json"
	programtest.ExpectStatus(t, p.Send("PATCH", "/v1/store/orders/1", programtest.AdminKey, `{"status":"cancelled"}`, patch), 200)
	programtest.ExpectStatus(t, p.Send("POST", "/v1/store/orders", programtest.AdminKey, `{"petId":3}`), 201)
	programtest.Await(t, "the new hold to expire", func() bool { return strings.Contains(p.Get("/v1/store/orders/3").Body, `"expired"`) })
	programtest.ExpectStatus(t, p.Send("PATCH", "/v1/store/orders/2", programtest.AdminKey, `{"status":"approved"}`, patch), 200)
	programtest.ExpectStatus(t, p.Send("PATCH", "/v1/store/orders/2", programtest.AdminKey, `{"status":"delivered"}`, patch), 200)
	programtest.ExpectStatus(t, p.Send("POST", "/v1/keys/1/rotate", programtest.AdminKey, `{"overlapSeconds":3600}`), 200)
	programtest.ExpectStatus(t, p.Send("GET", "/v1/pets", key, ""), 200)
	// The events must be in order regardless of their times, and webhooks must receive all of them.
	ids := []int64{}
	for _, event := range p.Feed() {
		ids = append(ids, programtest.Decode[struct {
			ID int64 `json:"id,string"`
		}](t, event).ID)
	}
	if !slices.IsSorted(ids) {
		t.Errorf("event ids are not in ascending order: %v", ids)
	}
	programtest.Await(t, "the webhook to receive the last event", func() bool { return hook.has(fmt.Sprint("evt_", ids[len(ids)-1])) > 0 })
	p.Stop()
}
