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
