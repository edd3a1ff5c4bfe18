package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alecthomas/kong"
)

const keyHint = ` The key came from ANIMALSTORE_KEY or --key-file; create another with animalstore keys create\.`

// All client commands report a wrong key, URL or service with the same message and exit code.
func TestClientCommandsReportConnectionErrors(t *testing.T) {
	newFolderWithKey(t)
	s := serve(t)
	s.useForCommands()
	writeFile(t, "other", "the-key-of-somebody-else")
	writeFile(t, "buyer", createKey(t, "--name", "buyer", "--scope", "orders:read"))
	writeFile(t, "reader", createKey(t, "--name", "reader", "--scope", "pets:read"))
	for _, fault := range []struct {
		name, flags, key string
		code             int
		want             string
	}{
		{"unknown key", "--key-file=other", adminKey, exitKey, `The API key is unknown or has expired; .*\.` + keyHint},
		{"missing scope", "--key-file=SCOPE", adminKey, exitKey, `This API key may not do that; use one with the scope [a-z]*:[a-z]*\.` + keyHint},
		{"no HTTP URL", "--url=ftp://127.0.0.1/v1", adminKey, exitUsage, `--url: expected a URL such as http://127\.0\.0\.1:8080/v1`},
		{"missing key file", "--key-file=nowhere", adminKey, exitUsage, `--key-file: open nowhere: no such file or directory`},
		{"no key", "", "", exitUsage, `no API key: set ANIMALSTORE_KEY, or name a file with --key-file; create a key with animalstore keys create`},
		{"unknown format", "--output=xml", adminKey, exitUsage, `--output must be one of "table","json".*`},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Setenv("ANIMALSTORE_KEY", fault.key)
			expectFromEveryClientCommand(t, fault.flags, fault.code, fault.want)
		})
	}
	t.Setenv("ANIMALSTORE_KEY", "schlüssel")
	expectRefusal(t, animalstore(t, "inventory"), exitUsage, "ANIMALSTORE_KEY: the key may contain only visible ASCII characters and no spaces")
}

// This test is parallel because the commands wait between their attempts.
func TestClientCommandsReportUnreachableService(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	writeFile(t, key, adminKey)
	expectFromEveryClientCommand(t, "--url=http://127.0.0.1:1/v1 --key-file="+key, exitUnreachable, `cannot reach the service at http://127\.0\.0\.1:1: `+
		`.*connection refused; start it with animalstore serve, or set its URL with --url or ANIMALSTORE_URL`)
}

// expectFromEveryClientCommand runs all client commands with the flags and expects one exit code and message.
func expectFromEveryClientCommand(t *testing.T, flags string, code int, want string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pets.csv")
	writeFile(t, file, "name,categoryId\nRex,1\n")
	commands := []string{"events --follow"}
	for _, leaf := range grammar(t).Model.Leaves(true) {
		if slices.ContainsFunc(leaf.Flags, func(flag *kong.Flag) bool { return flag.Name == "url" }) {
			commands = append(commands, leaf.Path())
		}
	}
	var running sync.WaitGroup
	for _, command := range commands {
		arguments, known := clientCommands[command]
		if !known && command != "events --follow" {
			t.Errorf("clientCommands lacks %s", command)
		}
		code, want := code, want
		if command == "import" || command == "export" {
			if strings.HasPrefix(flags, "--output") {
				continue // they have no such flag
			}
			if code != exitUsage { // the hints and the other exit codes belong to the everyday commands
				code = exitError
				want, _, _ = strings.Cut(`(\S*: )?`+strings.TrimSuffix(want, keyHint), "; start it")
			}
		}
		scope := "buyer"
		if strings.HasPrefix(command, "orders") {
			scope = "reader"
		}
		line := command + " " + arguments + " " + flags
		args := strings.Fields(strings.NewReplacer("SCOPE", scope, "pets.csv", file).Replace(line))
		running.Go(func() {
			r := animalstore(t, args...)
			expectRefusal(t, r, code)
			if !regexp.MustCompile(`^animalstore: ` + want + `\n$`).MatchString(r.stderr) {
				t.Errorf("%q: got %q, want %q", args, r.stderr, want)
			}
		})
	}
	running.Wait()
}

// A command that is interrupted while it waits for the response exits with 130. If it may have changed
// something, it says so.
func TestInterruptedCommandsSayWhatMayHaveHappened(t *testing.T) {
	newFolder(t, "ANIMALSTORE_KEY=x")
	for command, args := range clientCommands {
		if command == "import" || command == "export" {
			continue // they can continue, see the scripts
		}
		t.Run(command, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				interrupt()
				<-r.Context().Done() // the command has given up
			}))
			defer silent.Close()
			if command == "pets set" {
				args += " --if-match=*" // without it, the first request reads
			}
			var out, errs bytes.Buffer
			code := run(ctx, strings.Fields(command+" "+args+" --url="+silent.URL+"/v1"), terminal{&out, &errs})
			want := "animalstore: interrupted\n"
			if verb := strings.Fields(command + " show")[1]; verb != "list" && verb != "show" {
				want = "animalstore: interrupted; the change may have been made anyway: check before you retry\n"
			}
			if code != exitInterrupted || out.String() != "" || errs.String() != want {
				t.Errorf("got %v, want exit code 130 and %q", result{code, out.String(), errs.String()}, want)
			}
		})
	}
}

// The text of a server that is not animalstore is escaped before it is printed on a terminal.
func TestCommandsRejectResponsesFromOtherServers(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/pets":
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, "<h1>Nothing here</h1>")
		case "/v1/store/inventory":
			w.WriteHeader(http.StatusConflict)
			io.WriteString(w, `{"code":"gone_mad","message":"\u001b[2J\u009b2J Beware.","status":409}`)
		default:
			panic(http.ErrAbortHandler) // close the connection without sending a response
		}
	}))
	defer other.Close()
	newFolder(t, "ANIMALSTORE_KEY=x", "ANIMALSTORE_URL="+other.URL+"/v1")
	expectRefusal(t, animalstore(t, "pets", "list"), exitUnreachable, "does not come from the service. Is --url or ANIMALSTORE_URL the URL")
	expectRefusal(t, animalstore(t, "inventory"), exitRefused, `\u001b[2J\u009b2J Beware.`)
	expectRefusal(t, animalstore(t, "orders", "list"), exitUnreachable, "cannot reach the service at "+other.URL+": EOF")
	expectRefusal(t, animalstore(t, "orders", "place", "--pet", "1"), exitUnreachable, "the change may have been made anyway: check before you retry")
}

// The health command reads the same variables as serve, so that a container needs no second configuration.
func TestHealthUsesHTTPSIfServiceHasCertificate(t *testing.T) {
	ready := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"status":"ok"}`) }))
	defer ready.Close()
	addr := ready.Listener.Addr().String()
	newFolder(t, "ANIMALSTORE_ADDR="+addr)
	expectRefusal(t, animalstore(t, "health"), exitError, "is not an animalstore")
	t.Setenv("ANIMALSTORE_TLS_CERT", "cert.pem")
	for _, args := range [][]string{{"health"}, {"health", "--addr", addr, "--tls-cert", "other.pem"}} {
		if r := succeed(t, args...); r.stdout != "ready\n" {
			t.Errorf("%q: got %v, want ready", args, r)
		}
	}
}

// pets set does not overwrite a change that somebody else made after it read the animal.
func TestPetsSetKeepsConcurrentChange(t *testing.T) {
	newFolderWithKey(t)
	s := serve(t)
	s.expect(201, "POST", "/v1/pets", adminKey, `{"name":"Rex","categoryId":1}`)
	s.useForCommands()
	interceptor := newProxy(t, s.url, func(r *http.Request) {
		if r.Method == http.MethodPatch {
			s.expect(200, "PATCH", r.URL.Path, adminKey, `{"name":"Rexina"}`)
		}
	})
	expectRefusal(t, animalstore(t, "pets", "set", "1", "--name", "Max", "--url", interceptor), exitRefused, "animal 1 was changed in the meantime")
	if r := succeed(t, "pets", "show", "1"); !strings.Contains(r.stdout, "Rexina") {
		t.Errorf("got %v, want Rexina", r)
	}
	succeed(t, "pets", "set", "1", "--name", "Max", "--if-match", "*", "--url", interceptor)
	if r := succeed(t, "pets", "show", "1"); !strings.Contains(r.stdout, "Max") {
		t.Errorf("got %v, want Max", r)
	}
}
