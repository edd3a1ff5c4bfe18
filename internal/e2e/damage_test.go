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
			f := newFolderWithKey(t)
			f.serve("--demo").stop()
			broken := damage.apply(f.read("animalstore.db"))
			f.write("animalstore.db", broken)
			expectRefusal(t, f.run("serve", "--addr", takenAddr(t)), 1, "animalstore.db", damage.want)
			expectRefusal(t, f.run("keys", "create", "--name", "n"), 1, "animalstore.db", damage.want)
			expectRefusal(t, f.run("backup", "b.db"), 1, "animalstore.db", damage.want)
			if r := f.run("check"); r.code != 1 {
				t.Errorf("check of a damaged database: got %v, want exit code 1", r)
			}
			if after := f.read("animalstore.db"); after != broken {
				t.Errorf("the database was changed, first at offset %d", firstDifference(broken, after))
			}
		})
	}
}

// TestDamagedTableFailsOnlyItsOwnRequests overwrites the root page of the pets table. Requests for animals
// must then get a 503 whose cause is logged, and all other requests must still succeed.
func TestDamagedTableFailsOnlyItsOwnRequests(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve("--demo")
	animals := len(p.walk())
	f.mustRun("backup", "backup.db")
	p.stop()
	db := openDatabase(t, f.path("animalstore.db"))
	var page int
	if err := db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = 'pets'").Scan(&page); err != nil {
		t.Fatal(err)
	}
	db.Close()
	content := f.read("animalstore.db")
	f.write("animalstore.db", content[:(page-1)*4096]+randomBytes(4096)+content[page*4096:])
	p = f.serve()
	p.databaseMayFail = true
	for range 3 {
		expectError(t, p.send("GET", "/v1/pets", adminKey, ""), 503, "unavailable")
		expectError(t, p.send("POST", "/v1/pets", adminKey, `{"name":"Rex","categoryId":1}`), 503, "unavailable")
		expectStatus(t, p.send("GET", "/v1/categories", adminKey, ""), 200)
		expectStatus(t, p.send("GET", "/livez", "", ""), 200)
	}
	p.awaitOutput("the reason for the failures", func(output string) bool { return strings.Contains(output, "database disk image is malformed") })
	if r := f.run("check"); r.code != 1 || !strings.Contains(r.stdout, "integrity: ") {
		t.Errorf("check of a damaged database: got %v, want exit code 1 and an integrity finding", r)
	}
	expectRefusal(t, f.run("backup", "b.db"), 1, "damaged")
	p.stop()
	f.mustRun("restore", "--force", "backup.db")
	if got := len(f.serve().walk()); got != animals {
		t.Errorf("animals after the restore: got %d, want %d", got, animals)
	}
}

// TestUnwritableDatabaseIsRefusedUnchanged runs the program on files that it has no permission to write. The
// program runs as the user nobody because root can write to any file.
func TestUnwritableDatabaseIsRefusedUnchanged(t *testing.T) {
	t.Parallel()
	const nobody = 65534
	asNobody := func(f *folder, name string, mode os.FileMode, args ...string) result {
		f.t.Helper()
		must := func(err error) {
			f.t.Helper()
			if err != nil {
				f.t.Fatal(err)
			}
		}
		command := exec.Command(binary, args...)
		if os.Geteuid() == 0 {
			command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			must(os.Chmod(filepath.Dir(binary), 0o711))
			must(os.Chmod(filepath.Dir(f.dir), 0o711))
			for _, path := range append([]string{"."}, f.names()...) {
				must(os.Chown(f.path(path), nobody, nobody))
			}
		}
		must(os.Chmod(f.path(name), mode))
		f.t.Cleanup(func() { os.Chmod(f.dir, 0o700) })
		var stdout, stderr transcript
		command.Dir, command.Env, command.Stdout, command.Stderr = f.dir, f.environment(), &stdout, &stderr
		if err := command.Run(); command.ProcessState == nil {
			f.t.Fatal(err)
		}
		return result{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
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
			f := newFolderWithKey(t)
			f.serve("--demo").stop()
			if err := os.Remove(f.path("animalstore.db.lock")); err != nil {
				t.Fatal(err)
			}
			before := f.read("animalstore.db")
			r := asNobody(f, c.file, c.mode, "serve", "--addr", takenAddr(t))
			expectRefusal(t, r, 1, "animalstore.db", c.want)
			if err := os.Chmod(f.path("animalstore.db"), 0o600); err != nil {
				t.Fatal(err)
			}
			if f.read("animalstore.db") != before {
				t.Error("the database was changed")
			}
		})
	}
	t.Run("check still works", func(t *testing.T) {
		t.Parallel()
		f := newFolderWithKey(t)
		f.serve("--demo").stop()
		r := asNobody(f, ".", 0o500, "check")
		if r.code != 0 {
			t.Errorf("check in a read-only folder: got %v, want exit code 0", r)
		}
		if names := f.names(); slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, "-wal") }) {
			t.Errorf("files: got %q, want no WAL", names)
		}
	})
}

// TestServiceWorksAfterClockIsSetBack simulates a clock that was a day ahead and has been corrected. Instead
// of changing the clock, it moves every stored time one day into the future.
func TestServiceWorksAfterClockIsSetBack(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve("--webhook-allow-private", "--order-hold", "24h")
	hook := newReceiver(t)
	hook.subscribe(p)
	key := f.createKey("--name", "partner", "--scope", "pets:read", "--scope", "pets:write")
	for range 3 {
		p.create(pet{Name: "Rex", Status: "available"})
	}
	once := func(p *program) response {
		a := p.send("POST", "/v1/pets", key, pet{Name: "once"}.json(), "Idempotency-Key: once")
		expectStatus(t, a, 201)
		return a
	}
	first := once(p)
	for id := 1; id <= 2; id++ {
		expectStatus(t, p.send("POST", "/v1/store/orders", adminKey, fmt.Sprintf(`{"petId":%d}`, id)), 201)
	}
	page := p.get("/v1/pets?limit=2")
	hook.awaitDeliveries(p)
	p.stop()

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
	f.execSQL("animalstore.db", strings.Join(moves, "; "))

	p = f.serve("--webhook-allow-private", "--order-hold", "1s", "--event-retention", "1h")
	if again := once(p); again.body != first.body || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("repeated request: got %v, want the replay of %v", again, first)
	}
	if next := nextPage.FindStringSubmatch(page.header.Get("Link")); next == nil {
		t.Error("no next link before the clock was set back")
	} else if a := p.get(strings.Replace(next[1], next[1][:strings.Index(next[1], "/v1")], "", 1)); len(decode[[]pet](t, a.body)) != 2 {
		t.Errorf("page of an earlier cursor: got %v, want 2 animals", a)
	}
	// Existing holds must not expire early, new holds must expire on time, and every order must accept
	// changes.
	expectError(t, p.send("POST", "/v1/store/orders", adminKey, `{"petId":1}`), 409, "pet_not_available")
	const patch = "Content-Type: application/merge-patch+json"
	expectStatus(t, p.send("PATCH", "/v1/store/orders/1", adminKey, `{"status":"cancelled"}`, patch), 200)
	expectStatus(t, p.send("POST", "/v1/store/orders", adminKey, `{"petId":3}`), 201)
	await(t, "the new hold to expire", func() bool { return strings.Contains(p.get("/v1/store/orders/3").body, `"expired"`) })
	expectStatus(t, p.send("PATCH", "/v1/store/orders/2", adminKey, `{"status":"approved"}`, patch), 200)
	expectStatus(t, p.send("PATCH", "/v1/store/orders/2", adminKey, `{"status":"delivered"}`, patch), 200)
	expectStatus(t, p.send("POST", "/v1/keys/1/rotate", adminKey, `{"overlapSeconds":3600}`), 200)
	expectStatus(t, p.send("GET", "/v1/pets", key, ""), 200)
	// The events must be in order regardless of their times, and webhooks must receive all of them.
	ids := []int64{}
	for _, event := range p.feed() {
		ids = append(ids, decode[struct {
			ID int64 `json:"id,string"`
		}](t, event).ID)
	}
	if !slices.IsSorted(ids) {
		t.Errorf("event ids are not in ascending order: %v", ids)
	}
	await(t, "the webhook to receive the last event", func() bool { return hook.has(fmt.Sprint("evt_", ids[len(ids)-1])) > 0 })
	p.stop()
}
