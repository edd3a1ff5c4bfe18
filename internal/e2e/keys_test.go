package e2e

import (
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"animalstore/internal/programtest"
)

// TestNewKeyWorksImmediately creates a key in a shell script while the service is running and uses the key
// immediately.
func TestNewKeyWorksImmediately(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolder(t)
	p := f.Serve()
	r := f.Shell(`
		KEY=$(animalstore keys create --name partner --scope pets:read) &&
		curl --silent --show-error --header "Authorization: Bearer $KEY" ` + p.URL + `/v1/pets`)
	if r.Code != 0 || r.Stdout != "[]\n" {
		t.Errorf("got %v, want exit code 0 and an empty list", r)
	}
	if !strings.Contains(r.Stderr, "partner") {
		t.Errorf("stderr: got %q, want the name of the key", r.Stderr)
	}
}

func TestKeyScopesLimitRequests(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolder(t)
	p := f.Serve()
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
			key := f.CreateKey(append([]string{"--name", "partner"}, test.scopes...)...)
			programtest.ExpectStatus(t, p.Send("GET", "/v1/pets", key, ""), test.read)
			programtest.ExpectStatus(t, p.Send("POST", "/v1/pets", key, programtest.Pet{Name: "Rex"}.JSON()), test.write)
			programtest.ExpectStatus(t, p.Send("GET", "/metrics", key, ""), test.manage)
		})
	}
	key := f.CreateKey("--name", "partner", "--scope", "pets:read")
	a := p.Send("POST", "/v1/pets", key, programtest.Pet{Name: "Rex"}.JSON())
	programtest.ExpectError(t, a, http.StatusForbidden, "insufficient_scope")
	programtest.ExpectHeader(t, a, "WWW-Authenticate", `Bearer realm="animalstore", error="insufficient_scope", scope="pets:write"`)
}

// TestKeyWorksUntilItExpires checks that a key is accepted until it expires and refused afterwards. The test
// can compare times exactly because it uses the same clock as the service.
func TestKeyWorksUntilItExpires(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolder(t)
	p := f.Serve()
	var key string
	var expires time.Time
	// On a busy machine, creating a key may take longer than the key's lifetime. The test then tries again
	// with a longer lifetime.
	for ahead := 3 * time.Second; key == ""; ahead *= 2 {
		expires = time.Now().Add(ahead).UTC()
		r := f.Run("keys", "create", "--name", "guest", "--expires", expires.Format(time.RFC3339Nano))
		if r.Code != 0 && time.Now().Before(expires) {
			t.Fatalf("keys create: got %v, want exit code 0", r)
		}
		key = strings.TrimSpace(r.Stdout)
	}
	programtest.Await(t, "the key to expire", func() bool {
		sent := time.Now()
		a := p.Send("GET", "/v1/pets", key, "")
		received := time.Now()
		if a.Status == http.StatusUnauthorized && received.Before(expires) {
			t.Fatalf("the key was refused %s before it expired", expires.Sub(received))
		}
		if a.Status == http.StatusOK && sent.After(expires) {
			t.Fatalf("the key was accepted %s after it expired", sent.Sub(expires))
		}
		return a.Status == http.StatusUnauthorized
	})
	programtest.ExpectError(t, p.Send("GET", "/v1/pets", key, ""), http.StatusUnauthorized, "invalid_api_key")
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
			programtest.ExpectUsageError(t, programtest.NewFolder(t), test.names, append([]string{"keys", "create"}, test.args...)...)
		})
	}
}

// TestKeysOfOtherEnvironmentsAreRefused uses a production key on staging and a staging key on production.
func TestKeysOfOtherEnvironmentsAreRefused(t *testing.T) {
	t.Parallel()
	production, staging := programtest.NewFolder(t), programtest.NewFolder(t)
	live := production.CreateKey("--name", "n")
	inStaging := staging.Serve("--environment", "staging")
	test := staging.CreateKey("--name", "n") // keys create reads the environment from the database
	if !strings.HasPrefix(live, "ask_live_") || !strings.HasPrefix(test, "ask_test_") {
		t.Errorf("got the keys %s and %s, want the prefixes ask_live_ and ask_test_", live, test)
	}
	programtest.ExpectStatus(t, inStaging.Send("GET", "/v1/pets", test, ""), 200)
	programtest.ExpectError(t, inStaging.Send("GET", "/v1/pets", live, ""), 401, "invalid_api_key")
	programtest.ExpectError(t, production.Serve().Send("GET", "/v1/pets", test, ""), 401, "invalid_api_key")
}

// TestConcurrentFirstStartsShareOneDatabase starts a service and many commands in the same empty folder at
// the same time.
func TestConcurrentFirstStartsShareOneDatabase(t *testing.T) {
	t.Parallel()
	const rounds, commands = 5, 8
	for range rounds {
		f := programtest.NewFolder(t)
		p := f.Start()
		var keys [commands]string
		var running sync.WaitGroup
		for i := range keys {
			running.Go(func() {
				r := f.Run("keys", "create", "--name", "n")
				if r.Code != 0 || !programtest.IssuedKey.MatchString(r.Stdout) {
					t.Errorf("keys create: got %v, want exit code 0 and a key", r)
				}
				keys[i] = strings.TrimSpace(r.Stdout)
			})
		}
		running.Wait()
		p.AwaitReady()
		if t.Failed() {
			return
		}
		seen := map[string]bool{}
		for _, key := range keys {
			programtest.ExpectStatus(t, p.Send("GET", "/v1/pets", key, ""), 200)
			if seen[key] {
				t.Errorf("%s was issued twice", key)
			}
			seen[key] = true
		}
		p.Stop()
		checkIntegrity(t, f.Path("animalstore.db"))
	}
}

// TestKeysCanBeCreatedUnderLoad creates keys while the service writes constantly. The command must wait until
// it gets the database lock.
func TestKeysCanBeCreatedUnderLoad(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve()
	s := &writeLoad{program: p, name: "load", clients: 4, after: 50}
	s.end = func() {
		for range 2 {
			if r := f.Run("keys", "create", "--name", "n"); r.Code != 0 {
				t.Errorf("keys create under load: got %v, want exit code 0", r)
			}
		}
		p.Signal(syscall.SIGTERM)
	}
	s.run()
	for _, problem := range s.problems {
		t.Error(problem)
	}
}
