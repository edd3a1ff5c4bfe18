package e2e

import (
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

// TestCopyToPostgresAndBackKeepsEverything copies a store from SQLite to PostgreSQL and from there to another
// SQLite file. Clients must get the same responses from every copy, their keys must still work, and new
// objects must get the next unused IDs.
func TestCopyToPostgresAndBackKeepsEverything(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	server := pgtest.Shared(t).NewDatabase(t)
	p := f.Serve()
	key := f.CreateKey("--name", "partner")
	lost := f.CreateKey("--name", "lost")
	for _, name := range []string{"Rex", "Mia 🐈", "Ärger", "gone"} {
		p.Create(programtest.Pet{Name: name, CategoryID: 7, Status: "available"})
	}
	const body = `{"name":"once","categoryId":7}`
	once := p.Send("POST", "/v1/pets", key, body, "Idempotency-Key: once")
	programtest.ExpectStatus(t, once, 201)
	programtest.ExpectStatus(t, p.Send("POST", "/v1/categories", key, `{"name":"Dogs"}`), 201)
	programtest.ExpectStatus(t, p.Send("POST", "/v1/store/orders", key, `{"petId":1,"reference":"a-1"}`), 201)
	programtest.ExpectStatus(t, p.Send("POST", "/v1/store/orders", key, `{"petId":2}`), 201)
	cancel := func(path string) {
		t.Helper()
		programtest.ExpectStatus(t, p.Send("PATCH", path, key, `{"status":"cancelled"}`, "Content-Type: application/merge-patch+json"), 200)
	}
	cancel("/v1/store/orders/2")
	programtest.ExpectStatus(t, p.Send("DELETE", "/v1/keys/2", key, ""), 204)
	last, _ := p.Create(programtest.Pet{Name: "the newest"})
	programtest.ExpectStatus(t, p.Send("DELETE", "/v1/pets/6", key, ""), 204)
	if last.ID != 6 {
		t.Fatalf("id of the newest animal: got %d, want 6", last.ID)
	}

	paths := []string{"/v1/pets?limit=100", "/v1/pets?q=ärg", "/v1/pets?id=2", "/v1/categories", "/v1/store/inventory", "/v1/store/orders",
		"/v1/store/orders/1", "/v1/keys", "/v1/events?limit=100"}
	used := regexp.MustCompile(`"lastUsedAt":"[^"]*"`) // these requests change the time of last use
	snapshot := func(p *programtest.Program) (responses []string) {
		t.Helper()
		for _, path := range paths {
			a := p.Send("GET", path, key, "")
			programtest.ExpectStatus(t, a, 200)
			responses = append(responses, path+": "+used.ReplaceAllString(a.Body, ""))
		}
		return responses
	}
	want := snapshot(p)
	programtest.ExpectRefusal(t, f.Run("copy", "--to", server), 1, "the source", "already in use by another animalstore")
	p.Stop()

	from, next := "animalstore.db", int64(7)
	for _, to := range []string{server, "back.db"} {
		r := f.Run("copy", "--database", from, "--to", to)
		source, _, _ := strings.Cut(from, "?") // the output omits the URL parameters
		target, _, _ := strings.Cut(to, "?")
		if r.Code != 0 || !regexp.MustCompile(`(?m)^pets \d+ rows, sha256 [0-9a-f]{64}, ids go on after \d+$`).MatchString(r.Stdout) ||
			!strings.Contains(r.Stderr, "checking kept_answers: 1 of 1 rows\n") || !strings.Contains(r.Stderr, "\nCopied "+source+" to "+target+" and verified the copy.\n") {
			t.Fatalf("copy %s to %s: got %v, want exit code 0, row counts and progress", from, to, r)
		}
		programtest.ExpectRefusal(t, f.Run("copy", "--database", from, "--to", to), 1, "the target", "not empty")
		p = f.Serve("--database", to)
		if diff := cmp.Diff(want, snapshot(p)); diff != "" {
			t.Errorf("responses from %s (-want +got):\n%s", to, diff)
		}
		again := p.Send("POST", "/v1/pets", key, body, "Idempotency-Key: once")
		programtest.ExpectHeader(t, again, "Idempotency-Replayed", "true")
		if again.Status != once.Status || again.Body != once.Body {
			t.Errorf("%s replays %v, want %v", to, again, once)
		}
		programtest.ExpectError(t, p.Send("GET", "/v1/pets", lost, ""), 401, "invalid_api_key")
		programtest.ExpectError(t, p.Send("POST", "/v1/store/orders", key, `{"petId":1}`), 409, "pet_not_available")
		if added, _ := p.Create(programtest.Pet{Name: "next"}); added.ID != next {
			t.Errorf("%s: id of the next animal: got %d, want %d", to, added.ID, next)
		}
		a := p.Send("POST", "/v1/store/orders", key, `{"petId":3}`)
		programtest.ExpectStatus(t, a, 201)
		if order := programtest.Decode[struct{ ID int64 }](t, a.Body); order.ID != next-4 {
			t.Errorf("%s: id of the next order: got %d, want %d", to, order.ID, next-4)
		}
		cancel(fmt.Sprint("/v1/store/orders/", next-4))
		want = snapshot(p)
		p.Stop()
		from, next = to, next+1
	}
}

func TestCopyRefusesBadArgumentsAndHidesPasswords(t *testing.T) {
	t.Parallel()
	const secret = "swordfish"
	for names, args := range map[string][]string{
		"--to":                 {"copy"},
		"--to: the file name":  {"copy", "--to", ""},
		"--to: expected":       {"copy", "--to", "mysql://h/" + secret},
		"--database: expected": {"copy", "--database", "mysql://h/" + secret, "--to", "x.db"},
		"ANIMALSTORE_COPY_TO":  {"copy", "--to", "postgres://u:?" + secret + "@127.0.0.1:1,127.0.0.1:2/db"},
		"other users can see":  {"copy", "--to", "postgres://u@127.0.0.1:1/db?password=" + secret},
	} {
		if r := programtest.ExpectUsageError(t, programtest.NewFolder(t), names, args...); strings.Contains(r.Stderr, secret) {
			t.Errorf("the password is in the error message %q", r.Stderr)
		}
	}
	f := programtest.NewFolder(t)
	programtest.ExpectRefusal(t, f.Run("copy", "--database", "missing.db", "--to", "x.db"), 1, "the source", "missing.db")
	f.CreateKey("--name", "n")
	programtest.ExpectRefusal(t, f.Run("copy", "--to", f.Path("animalstore.db")), 1, "the same database")
	server := pgtest.Shared(t).NewDatabase(t) // this server requires no password but accepts any password
	f.Variables = append(f.Variables, "ANIMALSTORE_COPY_TO="+strings.Replace(server, "@", ":"+secret+"@", 1))
	if r := f.Run("copy"); r.Code != 0 || strings.Contains(r.Stderr+r.Stdout, secret) || !strings.Contains(r.Stderr, ":REDACTED@") {
		t.Errorf("copy: got %v, want exit code 0 and a redacted password", r)
	}
}

// TestCopyShowsProgressOnTerminal checks that copy shows its progress on one line and erases this line at the
// end.
func TestCopyShowsProgressOnTerminal(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolder(t)
	f.CreateKey("--name", "n")
	command := exec.Command(programtest.Binary(t), "copy", "--to", "to.db")
	command.Dir, command.Env = f.Dir, f.Environment()
	output := &programtest.Transcript{}
	terminal, err := pty.Start(command)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	io.Copy(output, terminal) // io.Copy returns an error when the program exits
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
	before, after, _ := strings.Cut(output.String(), "\x1b[Ksettings 1 rows, sha256")
	shown := strings.Contains(before, "\r\x1b[Kcopying settings: 1 of 1 rows\r")
	if !shown || strings.Contains(before, "\n") || strings.Contains(after, "\x1b") {
		t.Errorf("got %q, want one progress line that is erased before the results", output)
	}
}
