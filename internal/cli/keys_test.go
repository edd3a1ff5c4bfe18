package cli

import (
	"strings"
	"testing"
)

// The keys commands change the database, and the running service notices.
func TestRunningServiceRefusesRotatedAndRevokedKeys(t *testing.T) {
	newFolder(t)
	s := serve(t)
	createKey(t, "--name", "boss")
	old := createKey(t, "--name", "partner", "--scope", "pets:read")
	s.expect(200, "GET", "/v1/pets", old, "")
	r := succeed(t, "keys", "rotate", "2", "--overlap", "1h")
	if !issuedKey.MatchString(r.stdout) || !strings.Contains(r.stderr, "partner") {
		t.Fatalf("keys rotate: got %v, want a key and its name", r)
	}
	renewed := strings.TrimSpace(r.stdout)
	s.expect(200, "GET", "/v1/pets", old, "") // the overlap
	s.expect(200, "GET", "/v1/pets", renewed, "")
	last := strings.TrimSpace(succeed(t, "keys", "rotate", "2", "--overlap", "0s").stdout)
	s.expect(200, "GET", "/v1/pets", last, "")
	for _, retired := range []string{old, renewed} {
		s.awaitRefusal(retired)
	}
	if r := succeed(t, "keys", "revoke", "2"); r.stdout != "" || r.stderr != "Revoked key 2.\n" {
		t.Errorf("keys revoke: got %v, want only a note on stderr", r)
	}
	s.awaitRefusal(last)
	s.expect(401, "GET", "/v1/pets", last, "") // it stays refused
}

// awaitRefusal waits until the service refuses a key, which it may cache for a second.
func (s *service) awaitRefusal(key string) {
	s.t.Helper()
	for s.send("GET", "/v1/pets", key, "").status != 401 {
	}
}

// A key's name cannot send control sequences to another user's terminal.
func TestKeyNamesAreEscapedInOutput(t *testing.T) {
	newFolder(t)
	created := succeed(t, "keys", "create", "--name", "a\u009b31mred \u202ex")
	for _, r := range []result{created, succeed(t, "keys", "list"), succeed(t, "keys", "rotate", "1")} {
		if output := r.stdout + r.stderr; !strings.Contains(output, `a\u009b31mred \u202ex`) || strings.ContainsAny(output, "\u009b\u202e") {
			t.Errorf("got %v, want the escaped name", r)
		}
	}
}

func TestKeysListShowsEveryKey(t *testing.T) {
	newFolder(t)
	boss := createKey(t, "--name", "Zoë, the boss")
	createKey(t, "--name", "guest", "--scope", "pets:read,orders:read", "--expires", "2099-12-31")
	r := succeed(t, "keys", "list")
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if r.stderr != "" || len(lines) != 3 {
		t.Fatalf("keys list: got %v, want 3 lines", r)
	}
	for i, parts := range [][]string{
		{"ID", "NAME", "SCOPES", "HINT", "CREATED", "EXPIRES", "LAST USED"},
		{"2", "guest", "pets:read, orders:read", "2099-12-31 00:00 UTC", "not yet"},
		{"1", "Zoë, the boss", "admin", "…" + boss[len(boss)-4:], "never", "not yet"},
	} {
		for _, part := range parts {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %d: got %q, want %q in it", i+1, lines[i], part)
			}
		}
	}
	s := serve(t)
	s.expect(200, "GET", "/v1/pets", boss, "")
	s.stop() // the service stores the keys' last-used times when it stops
	if r := succeed(t, "keys", "list"); strings.Count(r.stdout, "not yet") != 1 {
		t.Errorf("keys list after one key was used: got %s, want one \"not yet\"", r.stdout)
	}
}

func TestKeysCommandsRefuseWhatIsNotThere(t *testing.T) {
	newFolder(t)
	createKey(t, "--name", "boss")
	for line, want := range map[string]string{
		"revoke 1":                       "last admin key",
		"revoke 99":                      "no key with the id 99",
		"rotate 99":                      "no key with the id 99",
		"list --database nowhere.db":     "nowhere.db",
		"revoke 1 --database nowhere.db": "nowhere.db",
		"rotate 1 --database nowhere.db": "nowhere.db",
	} {
		t.Run(line, func(t *testing.T) {
			expectRefusal(t, animalstore(t, strings.Fields("keys "+line)...), exitError, want)
		})
	}
	if names := strings.Join(fileNames(t), " "); strings.Contains(names, "nowhere") {
		t.Errorf("files: got %s, want no nowhere.db", names)
	}
}

// A database can be used only in the environment for which serve or keys create has created it.
func TestDatabaseKeepsItsEnvironment(t *testing.T) {
	for own, other := range map[string]string{"production": "staging", "staging": "production"} {
		for creator, create := range map[string]func(t *testing.T){
			"serve": func(t *testing.T) { serve(t, "--environment", own).stop() },
			"keys":  func(t *testing.T) { createKey(t, "--name", "n", "--environment", own) },
		} {
			t.Run(own+" by "+creator, func(t *testing.T) {
				newFolderWithKey(t)
				create(t)
				expectRefusal(t, animalstore(t, "serve", "--addr", "127.0.0.1:0", "--environment", other), 2, own, other)
				expectRefusal(t, animalstore(t, "keys", "create", "--name", "n", "--environment", other), 2, own, other)
				createKey(t, "--name", "n")
				serve(t, "--environment", own).expect(200, "GET", "/v1/pets", adminKey, "")
			})
		}
	}
}
