package e2e

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// issuedKey matches the entire stdout of a command that issues a key.
var issuedKey = regexp.MustCompile(`^ask_(live|test)_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}\n$`)

// createKey creates a key on the command line and returns it.
func (f *folder) createKey(args ...string) string {
	f.t.Helper()
	r := f.run(append([]string{"keys", "create"}, args...)...)
	if r.code != 0 || !issuedKey.MatchString(r.stdout) {
		f.t.Fatalf("keys create %q: got %v, want exit code 0 and a key", args, r)
	}
	return strings.TrimSpace(r.stdout)
}

// TestNewKeyWorksImmediately creates a key in a shell script while the service is running and uses the key
// immediately.
func TestNewKeyWorksImmediately(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.serve()
	r := f.shell(`
		KEY=$(animalstore keys create --name partner --scope pets:read) &&
		curl --silent --show-error --header "Authorization: Bearer $KEY" ` + p.url + `/v1/pets`)
	if r.code != 0 || r.stdout != "[]\n" {
		t.Errorf("got %v, want exit code 0 and an empty list", r)
	}
	if !strings.Contains(r.stderr, "partner") {
		t.Errorf("stderr: got %q, want the name of the key", r.stderr)
	}
}

func TestKeyScopesLimitRequests(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.serve()
	tests := []struct {
		scopes              []string
		read, write, manage int // expected response statuses for GET /v1/pets, POST /v1/pets and GET /metrics
	}{
		{nil, 200, 201, 200},
		{[]string{"--scope", "admin"}, 200, 201, 200},
		{[]string{"--scope", "pets:read"}, 200, 403, 403},
		{[]string{"--scope", "pets:write"}, 403, 201, 403},
		{[]string{"--scope", "pets:read", "--scope", "pets:write"}, 200, 201, 403},
		{[]string{"--scope", "orders:read", "--scope", "orders:write", "--scope", "events:read"}, 403, 403, 403},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.scopes, " "), func(t *testing.T) {
			key := f.createKey(append([]string{"--name", "partner"}, test.scopes...)...)
			expectStatus(t, p.send("GET", "/v1/pets", key, ""), test.read)
			expectStatus(t, p.send("POST", "/v1/pets", key, pet{Name: "Rex"}.json()), test.write)
			expectStatus(t, p.send("GET", "/metrics", key, ""), test.manage)
		})
	}
	key := f.createKey("--name", "partner", "--scope", "pets:read")
	a := p.send("POST", "/v1/pets", key, pet{Name: "Rex"}.json())
	expectError(t, a, http.StatusForbidden, "insufficient_scope")
	expectHeader(t, a, "WWW-Authenticate", `Bearer realm="animalstore", error="insufficient_scope", scope="pets:write"`)
}

// TestKeyWorksUntilItExpires checks that a key is accepted until it expires and refused afterwards. The test
// can compare times exactly because it uses the same clock as the service.
func TestKeyWorksUntilItExpires(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.serve()
	var key string
	var expires time.Time
	// On a busy machine, creating a key may take longer than the key's lifetime. The test then tries again
	// with a longer lifetime.
	for ahead := 3 * time.Second; key == ""; ahead *= 2 {
		expires = time.Now().Add(ahead).UTC()
		r := f.run("keys", "create", "--name", "guest", "--expires", expires.Format(time.RFC3339Nano))
		if r.code != 0 && time.Now().Before(expires) {
			t.Fatalf("keys create: got %v, want exit code 0", r)
		}
		key = strings.TrimSpace(r.stdout)
	}
	await(t, "the key to expire", func() bool {
		sent := time.Now()
		a := p.send("GET", "/v1/pets", key, "")
		received := time.Now()
		if a.status == http.StatusUnauthorized && received.Before(expires) {
			t.Fatalf("the key was refused %s before it expired", expires.Sub(received))
		}
		if a.status == http.StatusOK && sent.After(expires) {
			t.Fatalf("the key was accepted %s after it expired", sent.Sub(expires))
		}
		return a.status == http.StatusUnauthorized
	})
	expectError(t, p.send("GET", "/v1/pets", key, ""), http.StatusUnauthorized, "invalid_api_key")
}

func TestInvalidKeyFlagsAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		names string
		args  []string
	}{
		"no name":             {"--name", []string{}},
		"empty name":          {"--name", []string{"--name", ""}},
		"long name":           {"--name", []string{"--name", strings.Repeat("n", 201)}},
		"unknown scope":       {"--scope", []string{"--name", "n", "--scope", "pets:eat"}},
		"empty scope":         {"--scope", []string{"--name", "n", "--scope", ""}},
		"invalid time":        {"--expires", []string{"--name", "n", "--expires", "soon"}},
		"invalid date":        {"--expires", []string{"--name", "n", "--expires", "2030-02-30"}},
		"in the past":         {"--expires", []string{"--name", "n", "--expires", "2020-01-01"}},
		"unknown environment": {"--environment", []string{"--name", "n", "--environment", "prod"}},
		"database in memory":  {"--database", []string{"--name", "n", "--database", ":memory:"}},
		"extra argument":      {"extra", []string{"--name", "n", "extra"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectUsageError(t, newFolder(t), test.names, append([]string{"keys", "create"}, test.args...)...)
		})
	}
}

// TestKeysOfOtherEnvironmentsAreRefused uses a production key on staging and a staging key on production.
func TestKeysOfOtherEnvironmentsAreRefused(t *testing.T) {
	t.Parallel()
	production, staging := newFolder(t), newFolder(t)
	live := production.createKey("--name", "n")
	inStaging := staging.serve("--environment", "staging")
	test := staging.createKey("--name", "n") // keys create reads the environment from the database
	if !strings.HasPrefix(live, "ask_live_") || !strings.HasPrefix(test, "ask_test_") {
		t.Errorf("got the keys %s and %s, want the prefixes ask_live_ and ask_test_", live, test)
	}
	expectStatus(t, inStaging.send("GET", "/v1/pets", test, ""), 200)
	expectError(t, inStaging.send("GET", "/v1/pets", live, ""), 401, "invalid_api_key")
	expectError(t, production.serve().send("GET", "/v1/pets", test, ""), 401, "invalid_api_key")
}

// TestConcurrentFirstStartsShareOneDatabase starts a service and many commands in the same empty folder at
// the same time.
func TestConcurrentFirstStartsShareOneDatabase(t *testing.T) {
	t.Parallel()
	const rounds, commands = 5, 8
	for range rounds {
		f := newFolder(t)
		p := f.start()
		var keys [commands]string
		var running sync.WaitGroup
		for i := range keys {
			running.Go(func() {
				r := f.run("keys", "create", "--name", "n")
				if r.code != 0 || !issuedKey.MatchString(r.stdout) {
					t.Errorf("keys create: got %v, want exit code 0 and a key", r)
				}
				keys[i] = strings.TrimSpace(r.stdout)
			})
		}
		running.Wait()
		p.awaitReady()
		if t.Failed() {
			return
		}
		seen := map[string]bool{}
		for _, key := range keys {
			expectStatus(t, p.send("GET", "/v1/pets", key, ""), 200)
			if seen[key] {
				t.Errorf("%s was issued twice", key)
			}
			seen[key] = true
		}
		p.stop()
		checkIntegrity(t, f.path("animalstore.db"))
	}
}

// TestKeysCanBeCreatedUnderLoad creates keys while the service writes constantly. The command must wait until
// it gets the database lock.
func TestKeysCanBeCreatedUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	s := &writeLoad{program: p, name: "load", clients: 4, after: 50}
	s.end = func() {
		for range 2 {
			if r := f.run("keys", "create", "--name", "n"); r.code != 0 {
				t.Errorf("keys create under load: got %v, want exit code 0", r)
			}
		}
		p.signal(syscall.SIGTERM)
	}
	s.run()
	for _, problem := range s.problems {
		t.Error(problem)
	}
}
