package cli_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/creack/pty"
	_ "modernc.org/sqlite"

	"animalstore/internal/cli"
)

// commandResult is what a command printed and returned.
type commandResult struct {
	code           int
	stdout, stderr string
}

func (r commandResult) String() string {
	return fmt.Sprintf("exit code %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
}

func command(args ...string) commandResult {
	var out, errs bytes.Buffer
	code := cli.Run(args, &out, &errs)
	return commandResult{code, out.String(), errs.String()}
}

// must runs a command that has to succeed.
func must(t *testing.T, args ...string) commandResult {
	t.Helper()
	r := command(args...)
	if r.code != 0 {
		t.Fatalf("%q: got %v, want exit code 0", args, r)
	}
	return r
}

// refused runs a command that has to fail with exit code 1 and one line on stderr that contains the words.
func refused(t *testing.T, words []string, args ...string) {
	t.Helper()
	r := command(args...)
	if r.code != 1 || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("%q: got %v, want exit code 1 and one line on stderr", args, r)
	}
	for _, word := range words {
		if !strings.Contains(r.stderr, word) {
			t.Errorf("%q: got %q on stderr, want %q in it", args, r.stderr, word)
		}
	}
}

// says is a shorthand for the words in an error message.
func says(words ...string) []string { return words }

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// execute runs statements directly on a SQLite file, as another program would.
func execute(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
}

// names returns the names of all files in the folder except the lock file, which is never removed.
func names(t *testing.T) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() != "animalstore.db.lock" {
			all = append(all, entry.Name())
		}
	}
	return all
}

func TestBackupRestoreAndCheckRefuseOtherFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	refused(t, says("animalstore.db", "no such file"), "backup", "b.db")
	refused(t, says("animalstore.db", "no such file"), "check")
	refused(t, says("missing.db", "no such file"), "restore", "missing.db")
	write(t, "letter.txt", []byte(strings.Repeat("Dear aunt,\n", 500)))
	refused(t, says("letter.txt", "not a database"), "restore", "letter.txt")
	execute(t, "songs.db", "CREATE TABLE songs (title TEXT)")
	refused(t, says("songs.db", "another program"), "restore", "songs.db")
	write(t, "empty.db", nil)
	refused(t, says("no store in it"), "restore", "empty.db")
	if got, want := names(t), []string{"empty.db", "letter.txt", "songs.db"}; !slices.Equal(got, want) {
		t.Errorf("files: got %q, want %q", got, want)
	}
}

func TestBackupOverwritesOnlyWithForce(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "keys", "create", "--name", "n")
	must(t, "backup", "b.db")
	refused(t, says("b.db already exists", "--force"), "backup", "b.db")
	must(t, "backup", "--force", "b.db")
	refused(t, says("the store itself"), "backup", "--force", "animalstore.db")
	refused(t, says("the store itself"), "restore", "--force", "animalstore.db")
	refused(t, says("is a directory"), "backup", ".")
	refused(t, says("no such file or directory"), "backup", "nowhere/b.db")
	refused(t, says("already has a store", "--force"), "restore", "b.db")
}

func TestInconsistentBackupNeedsForceAndDamagedOneIsNeverRestored(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "keys", "create", "--name", "n")
	must(t, "backup", "b.db")
	execute(t, "b.db", "UPDATE inventory SET n = 5")
	if r := command("restore", "--database", "new.db", "b.db"); r.code != 1 || !strings.Contains(r.stderr, "inventory sold: counted 5, found 0\n") || !strings.Contains(r.stderr, "breaks rules") {
		t.Errorf("restore of an inconsistent backup: got %v, want exit code 1 and the finding", r)
	}
	must(t, "restore", "--database", "new.db", "--force", "b.db")
	if r := command("backup", "--database", "new.db", "again.db"); r.code != 1 || !strings.Contains(r.stderr, "the backup is complete, but the store is inconsistent: 4 findings") {
		t.Errorf("backup of an inconsistent store: got %v, want exit code 1 and 4 findings", r)
	}
	content, err := os.ReadFile("b.db")
	if err != nil {
		t.Fatal(err)
	}
	for i := len(content) / 2; i < len(content); i++ {
		content[i] = byte(i)
	}
	write(t, "b.db", content)
	if r := command("restore", "--force", "--database", "newer.db", "b.db"); r.code != 1 || !strings.Contains(r.stderr, "damaged") {
		t.Errorf("restore of a damaged backup: got %v, want exit code 1 and \"damaged\"", r)
	}
	if _, err := os.Stat("newer.db"); err == nil {
		t.Error("a damaged backup was restored")
	}
}

// The operator learns which keys a restore brings back, where the previous store is kept, and, if the store was
// lost, that IDs continue after a gap.
func TestRestoreReportsWhatItUndoes(t *testing.T) {
	for name, lost := range map[string]bool{"over the store": false, "after the store was lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, key := range []string{"partner", "other", "boss"} {
				must(t, "keys", "create", "--name", key)
			}
			must(t, "backup", "backup.db")
			must(t, "keys", "revoke", "1")
			must(t, "keys", "rotate", "2")
			if lost {
				for _, name := range names(t) {
					if strings.HasPrefix(name, "animalstore.db") {
						os.Remove(name)
					}
				}
			}
			r := must(t, "restore", "--force", "backup.db")
			for text, want := range map[string]bool{
				"animalstore.db.before-": !lost,
				"The ids assigned after the backup are unknown, so new ids continue after ":                      lost,
				"Key 1 (partner): it was revoked after the backup, and works again.\n":                           !lost,
				"Key 2 (other): it was rotated after the backup, and its secrets are again those from before.\n": !lost,
				"Restored animalstore.db from backup.db.\n":                                                      true,
			} {
				if strings.Contains(r.stderr, text) != want {
					t.Errorf("restore prints %q: got %v, want %v in:\n%s", text, !want, want, r.stderr)
				}
			}
			must(t, "check")
		})
	}
}

// The health command, which containers run, tells a service that is not ready from one that is not there. It
// accepts every address that the service can listen on.
func TestHealthCommandReportsReadiness(t *testing.T) {
	t.Chdir(t.TempDir())
	var status atomic.Int64
	var answer atomic.Value
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
		w.Write([]byte(answer.Load().(string)))
	}))
	address := strings.TrimPrefix(service.URL, "http://")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	status.Store(http.StatusOK)
	answer.Store(`{"status":"ok"}`)
	for _, addr := range []string{address, "0.0.0.0:" + port, ":" + port} {
		if r := command("health", "--addr", addr); r.code != 0 || r.stdout != "ready\n" || r.stderr != "" {
			t.Errorf("health --addr %s: got %v, want exit code 0 and \"ready\"", addr, r)
		}
	}
	answer.Store("hello")
	refused(t, says("is not an animalstore"), "health", "--addr", address)
	status.Store(http.StatusServiceUnavailable)
	answer.Store(`{"code":"unavailable","message":"The database file was removed or replaced.","status":503}`)
	refused(t, says("not ready: ", "removed or replaced"), "health", "--addr", address)
	service.Close()
	refused(t, says("cannot reach the service"), "health", "--addr", address)
}

// On a terminal, copy shows its progress on one line, which it erases in the end.
func TestCopyShowsProgressOnTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "keys", "create", "--name", "n")
	control, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	shown := make(chan string)
	go func() {
		text, _ := io.ReadAll(control) // fails when the terminal is closed
		shown <- string(text)
	}()
	if code := cli.Run([]string{"copy", "--to", "to.db"}, terminal, terminal); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
	terminal.Close()
	screen := <-shown
	before, after, _ := strings.Cut(screen, "\x1b[Ksettings 1 rows, sha256")
	if !strings.Contains(before, "\r\x1b[Kcopying settings: 1 of 1 rows\r") || strings.Contains(before, "\n") || strings.Contains(after, "\x1b") {
		t.Errorf("got %q, want one progress line that is erased before the results", screen)
	}
}
