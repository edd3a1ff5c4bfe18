package e2e

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestRunningServiceRefusesRotatedAndRevokedKeys rotates and revokes a key on the command line while clients
// use the key.
func TestRunningServiceRefusesRotatedAndRevokedKeys(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.serve()
	f.createKey("--name", "boss")
	old := f.createKey("--name", "partner", "--scope", "pets:read")

	var secret atomic.Pointer[string]
	secret.Store(&old)
	var refused atomic.Int64
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if a := p.send("GET", "/v1/pets", *secret.Load(), ""); a.status != 200 {
					refused.Add(1)
				}
			}
		})
	}
	// With an overlap, no request is refused because the old secret still works and the new secret works
	// immediately.
	r := f.run("keys", "rotate", "2", "--overlap", "1h")
	if r.code != 0 || !issuedKey.MatchString(r.stdout) || !strings.Contains(r.stderr, "partner") {
		t.Fatalf("keys rotate: got %v, want exit code 0, a key and its name", r)
	}
	renewed := strings.TrimSpace(r.stdout)
	secret.Store(&renewed)
	for range 20 {
		expectStatus(t, p.send("GET", "/v1/pets", old, ""), 200)
		expectStatus(t, p.send("GET", "/v1/pets", renewed, ""), 200)
	}
	if n := refused.Load(); n > 0 {
		t.Errorf("requests refused during a rotation with an overlap: got %d, want 0", n)
	}
	// Without an overlap, the old secrets are refused immediately. After a revocation, all secrets are
	// refused.
	r = f.run("keys", "rotate", "2", "--overlap", "0s")
	last := strings.TrimSpace(r.stdout)
	for _, retired := range []string{old, renewed} {
		await(t, "the old secret to be refused", func() bool { return p.send("GET", "/v1/pets", retired, "").status == 401 })
	}
	expectStatus(t, p.send("GET", "/v1/pets", last, ""), 200)
	if r := f.run("keys", "revoke", "2"); r.code != 0 || r.stdout != "" {
		t.Errorf("keys revoke: got %v, want exit code 0 and nothing on stdout", r)
	}
	await(t, "the revoked key to be refused", func() bool { return p.send("GET", "/v1/pets", last, "").status == 401 })
	for range 20 { // the key must stay refused
		expectError(t, p.send("GET", "/v1/pets", last, ""), 401, "invalid_api_key")
	}
	close(stop)
	clients.Wait()
}

// TestKeyNamesAreEscapedInOutput checks that a key name cannot send control sequences to another user's
// terminal.
func TestKeyNamesAreEscapedInOutput(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	created := f.run("keys", "create", "--name", "a\u009b31mred \u202ex")
	for _, r := range []result{created, f.run("keys", "list"), f.run("keys", "rotate", "1")} {
		if output := r.stdout + r.stderr; r.code != 0 || !strings.Contains(output, `a\u009b31mred \u202ex`) || strings.ContainsAny(output, "\u009b\u202e") {
			t.Errorf("got %v, want exit code 0 and the escaped name", r)
		}
	}
}

func TestKeysListShowsEveryKey(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	boss := f.createKey("--name", "Zoë, the boss")
	f.createKey("--name", "guest", "--scope", "pets:read,orders:read", "--expires", "2099-12-31")
	r := f.run("keys", "list")
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if r.code != 0 || r.stderr != "" || len(lines) != 3 {
		t.Fatalf("keys list: got %v, want exit code 0 and 3 lines", r)
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
	p := f.serve()
	expectStatus(t, p.send("GET", "/v1/pets", boss, ""), 200)
	p.stop() // the service stores the keys' last-used times when it stops
	if r := f.run("keys", "list"); strings.Count(r.stdout, "not yet") != 1 {
		t.Errorf("keys list after one key was used: got %s, want one \"not yet\"", r.stdout)
	}
}

func TestKeysCommandsRefuseBadArguments(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.createKey("--name", "boss")
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"revoke 1", 1, "last admin key"},
		{"revoke 99", 1, "no key with the id 99"},
		{"rotate 99", 1, "no key with the id 99"},
		{"revoke", 2, "id"},
		{"revoke x", 2, "id"},
		{"revoke 1 2", 2, "unexpected argument"},
		{"rotate 1 --overlap x", 2, "--overlap"},
		{"rotate 1 --overlap=-1s", 2, "--overlap"},
		{"rotate 1 --overlap=721h", 2, "--overlap"},
		{"list --database nowhere.db", 1, "nowhere.db"},
		{"revoke 1 --database nowhere.db", 1, "nowhere.db"},
		{"rotate 1 --database nowhere.db", 1, "nowhere.db"},
		{"list --environment staging", 2, "production"},
		{"sing", 2, "sing"},
	} {
		t.Run(test.args, func(t *testing.T) {
			r := f.run(append([]string{"keys"}, strings.Fields(test.args)...)...)
			if r.code != test.code || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, test.want) {
				t.Errorf("got %v, want exit code %d and one line with %q on stderr", r, test.code, test.want)
			}
		})
	}
	if names := fmt.Sprint(f.names()); strings.Contains(names, "nowhere") {
		t.Errorf("files: got %s, want no nowhere.db", names)
	}
}
