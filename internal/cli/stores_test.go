package cli

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

// execute runs statements directly on a SQLite file, as another program would.
func execute(t *testing.T, path, statements string) {
	t.Helper()
	connection := shoptest.Must(sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate))(t)
	defer connection.Close()
	shoptest.OK(t, sqlitex.ExecuteScript(connection, statements, nil))
}

// newStore creates a store and a backup of it in a new folder.
func newStore(t *testing.T) *programtest.Folder {
	t.Helper()
	folder := newFolder(t)
	for _, name := range []string{"partner", "other", "boss"} {
		createKey(t, "--name", name)
	}
	succeed(t, "backup", "b.db")
	return folder
}

// expectRefusals runs each command and checks that it fails with exit code 1 and one line on stderr. commands maps each
// command to texts that are separated by " … ". The line must contain all of these texts.
func expectRefusals(t *testing.T, commands map[string]string) {
	t.Helper()
	for command, words := range commands {
		expectRefusal(t, animalstore(t, strings.Fields(command)...), 1, strings.Split(words, " … ")...)
	}
}

func TestBackupRestoreAndCheckRefuseOtherFiles(t *testing.T) {
	folder := newFolder(t)
	folder.Write("letter.txt", strings.Repeat("Dear aunt,\n", 500))
	folder.Write("empty.db", "")
	execute(t, "songs.db", "CREATE TABLE songs (title TEXT)")
	before := folder.Names()
	expectRefusals(t, map[string]string{
		"backup b.db":        "animalstore.db … no such file",
		"check":              "animalstore.db … no such file",
		"restore missing.db": "missing.db … no such file",
		"restore letter.txt": "letter.txt … not a database",
		"restore songs.db":   "songs.db … another program",
		"restore empty.db":   "no store in it",
	})
	after := slices.DeleteFunc(folder.Names(), func(name string) bool { return name == "animalstore.db.lock" })
	if !slices.Equal(after, before) {
		t.Errorf("files: got %q, want %q", after, before)
	}
}

// Every command that opens a PostgreSQL database refuses one whose encoding is not UTF-8, with one line and exit code
// 1.
func TestCommandsRefuseUnsuitableServer(t *testing.T) {
	newStore(t)
	t.Setenv("ANIMALSTORE_DATABASE", pgtest.Shared(t).NewDatabaseInEncoding(t, "SQL_ASCII"))
	for _, command := range []string{
		"serve --addr 127.0.0.1:0", "check", "keys list", "keys create --name boss", "copy --to c.db",
		"copy --database animalstore.db --to " + os.Getenv("ANIMALSTORE_DATABASE"),
	} {
		expectRefusal(t, animalstore(t, strings.Fields(command)...), 1, "the encoding of the database is SQL_ASCII", "ENCODING 'UTF8'")
	}
}

func TestBackupOverwritesOnlyWithForce(t *testing.T) {
	newStore(t)
	expectRefusals(t, map[string]string{
		"backup b.db":                    "b.db already exists … --force",
		"backup --force animalstore.db":  "the store itself",
		"restore --force animalstore.db": "the store itself",
		"backup .":                       "is a directory",
		"backup nowhere/b.db":            "no such file or directory",
		"restore b.db":                   "already has a store … --force",
	})
	succeed(t, "backup", "--force", "b.db")
}

func TestInconsistentBackupNeedsForceAndDamagedOneIsNeverRestored(t *testing.T) {
	folder := newStore(t)
	execute(t, "b.db", "UPDATE inventory SET available = 5, pending = 5, sold = 5, unspecified = 5")
	expect := func(code int, command string, words ...string) {
		t.Helper()
		r := animalstore(t, strings.Fields(command)...)
		for _, word := range words {
			if r.Code != code || !strings.Contains(r.Stderr, word) {
				t.Errorf("%s: got %v, want exit code %d and %q", command, r, code, word)
			}
		}
	}
	expect(1, "restore --database new.db b.db", "inventory sold: counted 5, found 0\n", "breaks rules")
	expect(0, "restore --database new.db --force b.db", "Restored new.db")
	expect(1, "backup --database new.db again.db", "the backup is complete, but the store is inconsistent: 4 findings")
	content := folder.Read("b.db")
	folder.Write("b.db", content[:len(content)/2]+strings.Repeat("x", len(content)/2))
	expect(1, "restore --force --database newer.db b.db", "damaged")
	if slices.Contains(folder.Names(), "newer.db") {
		t.Error("a damaged backup was restored")
	}
}

// A restore says which keys it makes valid again and where the old store is kept. If there is no old store, it says
// that new ids continue after a gap.
func TestRestoreReportsWhatItUndoes(t *testing.T) {
	for name, lost := range map[string]bool{"over the store": false, "after the store was lost": true} {
		t.Run(name, func(t *testing.T) {
			folder := newStore(t)
			succeed(t, "keys", "revoke", "1")
			succeed(t, "keys", "rotate", "2")
			for _, name := range folder.Names() {
				if lost && strings.HasPrefix(name, "animalstore.db") {
					os.Remove(name)
				}
			}
			r := succeed(t, "restore", "--force", "b.db")
			for text, want := range map[string]bool{
				"animalstore.db.before-": !lost,
				"The ids assigned after the backup are unknown, so new ids continue after ":                      lost,
				"Key 1 (partner): it was revoked after the backup, and works again.\n":                           !lost,
				"Key 2 (other): it was rotated after the backup, and its secrets are again those from before.\n": !lost,
				"Restored animalstore.db from b.db.\n":                                                           true,
			} {
				if strings.Contains(r.Stderr, text) != want {
					t.Errorf("restore prints %q: got %v, want %v in:\n%s", text, !want, want, r.Stderr)
				}
			}
			succeed(t, "check")
		})
	}
}

// On a terminal, copy shows its progress on one line, which it erases at the end.
func TestCopyShowsProgressOnTerminal(t *testing.T) {
	newStore(t)
	screen, output := openTerminal(t)
	if code := run(t.Context(), []string{"copy", "--to", "to.db"}, terminal{output, output}); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
	awaitText(t, screen, "verified the copy")
	before, after, _ := strings.Cut(screen.String(), "\x1b[Ksettings 1 rows, sha256")
	if !strings.Contains(before, "\r\x1b[Kcopying settings: 1 of 1 rows\r") || strings.Contains(before, "\n") || strings.Contains(after, "\x1b") {
		t.Errorf("got %q, want one progress line that is erased before the results", screen)
	}
}

// The check command finds no problems while clients are writing.
func TestCheckWorksWhileServiceWrites(t *testing.T) {
	for name, database := range map[string]string{"file": "animalstore.db", "server": pgtest.Shared(t).NewDatabase(t)} {
		t.Run(name, func(t *testing.T) {
			newFolder(t, "ANIMALSTORE_API_KEY="+adminKey, "ANIMALSTORE_DATABASE="+database)
			s := serve(t)
			var clients sync.WaitGroup
			var written atomic.Int64
			for range 4 {
				clients.Go(func() {
					for range 100 {
						s.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
						written.Add(1)
					}
				})
			}
			for written.Load() < 400 && !t.Failed() {
				if r := succeed(t, "check"); r.Stdout != "" || !strings.HasPrefix(r.Stderr, "No problems found in ") {
					t.Errorf("check during writes: got %v, want no findings", r)
				}
			}
			clients.Wait()
		})
	}
}

func TestCheckPrintsFindings(t *testing.T) {
	_, s := newShop(t)
	s.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	s.stop()
	execute(t, "animalstore.db", "UPDATE categories SET name_key = 'X' || char(27); UPDATE inventory SET sold = -1")
	want := result{Code: 1, Stderr: "animalstore: animalstore.db has 2 findings\n",
		Stdout: "inventory sold: counted -1, found 0\n" + `categories 1: the key of its name is "X\x1b", but its name is ""` + "\n"}
	if r := animalstore(t, "check"); r != want {
		t.Errorf("got %v, want %v", r, want)
	}
	execute(t, "animalstore.db", "UPDATE inventory SET sold = 0")
	if r, want := animalstore(t, "check"), "animalstore: animalstore.db has 1 finding\n"; r.Stderr != want {
		t.Errorf("got %q, want %q", r.Stderr, want)
	}
}

// The health command, which containers run, accepts every address that the service can listen on.
func TestHealthCommandReportsReadiness(t *testing.T) {
	newFolder(t)
	health := func(addr string) result { return animalstore(t, "health", "--addr", addr) }
	service := func(status int, body string) (addr string) {
		return shoptest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		})).Listener.Addr().String()
	}
	address := service(200, `{"status":"ok"}`)
	_, port, _ := net.SplitHostPort(address)
	for _, addr := range []string{address, "0.0.0.0:" + port, ":" + port} {
		if r := health(addr); r != (result{Stdout: "ready\n"}) {
			t.Errorf("health --addr %s: got %v, want exit code 0 and \"ready\"", addr, r)
		}
	}
	expectRefusal(t, health(service(200, "hello")), 1, "is not an animalstore")
	gone := `{"code":"unavailable","message":"The database file was removed or replaced.","status":503}`
	expectRefusal(t, health(service(503, gone)), 1, "not ready: ", "removed or replaced")
	expectRefusal(t, health("127.0.0.1:1"), 1, "cannot reach the service")
}

// The health command reads the same variables as serve, so that a container needs no second configuration.
func TestHealthUsesHTTPSIfServiceHasCertificate(t *testing.T) {
	ready := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"status":"ok"}`) }))
	defer ready.Close()
	addr := ready.Listener.Addr().String()
	newFolder(t, "ANIMALSTORE_ADDR="+addr)
	expectRefusal(t, animalstore(t, "health"), exitError, "is not an animalstore")
	succeed(t, "health", "--acme-domain", "pets.example.com,www.example.com")
	t.Setenv("ANIMALSTORE_TLS_CERT", "cert.pem")
	succeed(t, "health")
	succeed(t, "health", "--addr", addr, "--tls-cert", "other.pem")
}

// The files, the log and the metrics of the service contain no keys, even if clients send keys in the wrong places,
// such as URLs.
func TestSecretsStaySecret(t *testing.T) {
	folder, s := newShop(t)
	issued := createKey(t, "--name", "partner")
	stranger := createKey(t, "--name", "stranger", "--database", t.TempDir()+"/other.db")
	// post sends a request twice and returns the secret in the first response. The second response must not contain
	// the secret.
	post := func(path, body string) string {
		first := s.Send("POST", path, adminKey, body, "Idempotency-Key: "+path)
		again := s.Send("POST", path, adminKey, body, "Idempotency-Key: "+path)
		if strings.Contains(again.Body, "ask_") || again.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("repeated POST %s: got %v, want a replayed response without the secret", path, again)
		}
		return programtest.Decode[struct{ Key string }](t, first.Body).Key
	}
	secrets := map[string]string{
		"a key created by the API":   post("/v1/keys", `{"name":"site","scopes":["pets:read"]}`),
		"a key rotated by the API":   post("/v1/keys/2/rotate", ""),
		"a key rotated by a command": strings.TrimSpace(succeed(t, "keys", "rotate", "1").Stdout),
		"the configured key":         adminKey,
		"an issued key":              issued,
		"another store's key":        stranger,
		"a mistyped key":             issued[:20] + "0000" + issued[24:],
		"the beginning of a key":     issued[:30],
		"another service's key":      "sk_prod_4eC39HqLyjWDarjtT1zdp7dc", // only the context shows that this is a key
	}
	for what, secret := range secrets {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			s.Send(method, "/v1/pets", secret, `{"name":"Rex","categoryId":1}`)
		}
		paths := []string{"/v1/pets?key=", "/v1/pets?access_token=", "/v1/pets?limit=", "/v1/pets?q=", "/v1/pets?"}
		if what != "another service's key" {
			paths = append(paths, "/", "/v1/", "/v1/pets/", "/v1/pets/1/key=", "/debug/pprof/", "/v1/"+strings.Repeat("x", 180))
			s.Send(secret, "/v1/pets", adminKey, "")
		}
		for _, path := range paths {
			s.Send("GET", path+secret, "", "", "Authorization: "+secret, "Cookie: key="+secret, "User-Agent: "+secret)
			s.Send("GET", path+strings.NewReplacer("_", "%5F", "-", "%2D").Replace(secret), adminKey, "")
		}
	}
	written := map[string]string{"/metrics": s.Get("/metrics").Body}
	for _, name := range folder.Names() {
		written[name] = folder.Read(name)
	}
	if written["animalstore.db-wal"] == "" { // this file exists because the service is still running
		t.Errorf("files: got %q, want animalstore.db-wal among them", folder.Names())
	}
	s.stop()
	written["the log"] = s.Output.String()
	written["the database after the stop"] = folder.Read("animalstore.db")
	for what, secret := range secrets {
		for where, text := range written {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s contains %s: …%q…", where, what, text[max(0, i-40):min(len(text), i+len(secret)+40)])
			}
		}
	}
}
