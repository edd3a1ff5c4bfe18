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

// issuedKey is the whole output of a command that makes a key.
var issuedKey = regexp.MustCompile(`^ask_(live|test)_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}\n$`)

// createKey makes a key on the command line.
func (f *folder) createKey(args ...string) string {
	f.t.Helper()
	r := f.run(append([]string{"keys", "create"}, args...)...)
	if r.code != 0 || !issuedKey.MatchString(r.stdout) {
		f.t.Fatalf("keys create %q: %+v", args, r)
	}
	return strings.TrimSpace(r.stdout)
}

// TestNewKeyWorksImmediately makes a key as a script does, beside the running service, and uses it in the same breath.
func TestNewKeyWorksImmediately(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.serve()
	r := f.shell(`
		KEY=$(animalstore keys create --name partner --scope pets:read) &&
		curl --silent --show-error --header "Authorization: Bearer $KEY" ` + p.url + `/v1/pets`)
	if r.code != 0 || r.stdout != "[]\n" {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.stderr, "partner") {
		t.Errorf("%q does not tell what was made", r.stderr)
	}
}

func TestKeyScopesLimitRequests(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.serve()
	tests := []struct {
		scopes              []string
		read, write, manage int // the status of GET /v1/pets, of POST /v1/pets, and of GET /metrics
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

// TestKeyWorksUntilItExpires compares with the clock, which the service shares: a key is never refused before its time, and always
// after it.
func TestKeyWorksUntilItExpires(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.serve()
	var key string
	var expires time.Time
	for ahead := 3 * time.Second; key == ""; ahead *= 2 { // on a busy machine making a key may take longer than that
		expires = time.Now().Add(ahead).UTC()
		r := f.run("keys", "create", "--name", "guest", "--expires", expires.Format(time.RFC3339Nano))
		if r.code != 0 && time.Now().Before(expires) {
			t.Fatalf("%+v", r)
		}
		key = strings.TrimSpace(r.stdout)
	}
	await(t, "the key to expire", func() bool {
		sent := time.Now()
		a := p.send("GET", "/v1/pets", key, "")
		received := time.Now()
		if a.status == http.StatusUnauthorized && received.Before(expires) {
			t.Fatalf("refused %s too early", expires.Sub(received))
		}
		if a.status == http.StatusOK && sent.After(expires) {
			t.Fatalf("accepted %s too late", sent.Sub(expires))
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
		"no name":          {"--name", []string{}},
		"empty name":       {"--name", []string{"--name", ""}},
		"long name":        {"--name", []string{"--name", strings.Repeat("n", 201)}},
		"unknown scope":    {"--scope", []string{"--name", "n", "--scope", "pets:eat"}},
		"empty scope":      {"--scope", []string{"--name", "n", "--scope", ""}},
		"no time":          {"--expires", []string{"--name", "n", "--expires", "soon"}},
		"no such day":      {"--expires", []string{"--name", "n", "--expires", "2030-02-30"}},
		"in the past":      {"--expires", []string{"--name", "n", "--expires", "2020-01-01"}},
		"no environment":   {"--environment", []string{"--name", "n", "--environment", "prod"}},
		"no file":          {"--database", []string{"--name", "n", "--database", ":memory:"}},
		"another argument": {"extra", []string{"--name", "n", "extra"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectUsageError(t, newFolder(t), test.names, append([]string{"keys", "create"}, test.args...)...)
		})
	}
}

// TestKeysOfOtherEnvironment: a staging store makes keys of its own, and takes no others.
func TestKeysOfOtherEnvironmentsAreRefused(t *testing.T) {
	t.Parallel()
	production, staging := newFolder(t), newFolder(t)
	live := production.createKey("--name", "n")
	inStaging := staging.serve("--environment", "staging")
	test := staging.createKey("--name", "n") // the database knows its environment
	if !strings.HasPrefix(live, "ask_live_") || !strings.HasPrefix(test, "ask_test_") {
		t.Errorf("the keys are %s and %s", live, test)
	}
	expectStatus(t, inStaging.send("GET", "/v1/pets", test, ""), 200)
	expectError(t, inStaging.send("GET", "/v1/pets", live, ""), 401, "invalid_api_key")
	expectError(t, production.serve().send("GET", "/v1/pets", test, ""), 401, "invalid_api_key")
}

// TestConcurrentFirstStartsShareOneDatabase lets a service and many commands find the same empty folder at the same moment.
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
					t.Errorf("%+v", r)
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

// TestKeysCanBeCreatedUnderLoad makes keys while clients keep the service writing: the command waits for its turn, and gets it.
func TestKeysCanBeCreatedUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	s := &storm{program: p, name: "load", clients: 4, after: 50}
	s.end = func() {
		for range 2 {
			if r := f.run("keys", "create", "--name", "n"); r.code != 0 {
				t.Errorf("%+v", r)
			}
		}
		p.signal(syscall.SIGTERM)
	}
	s.run()
	for _, problem := range s.problems {
		t.Error(problem)
	}
}
